#include "transport/collective/choice/chooser.hpp"

#include <set>

namespace muster {
namespace {

// From so many members on, the messages between all pairs cost more than the hops that they save, for vectors
// up to so many elements each.
constexpr std::size_t kManyMembers = 8;
constexpr std::size_t kElementsEach = 4096;

}  // namespace

Algorithm choose_algorithm(std::size_t elements, std::span<const std::uint32_t> hosts) {
  const std::size_t different = std::set(hosts.begin(), hosts.end()).size();
  if (different > 1 && different < hosts.size()) return Algorithm::hierarchical;
  if (different == hosts.size() && hosts.size() >= kManyMembers && elements <= kElementsEach * hosts.size())
    return Algorithm::halving_doubling;
  return Algorithm::direct;
}

bool may_take_one_shot(std::span<const std::uint32_t> hosts) {
  return hosts.size() == 2 && hosts[0] == hosts[1];
}

}  // namespace muster
