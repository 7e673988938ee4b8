#include "transport/collective/algorithms/algorithm.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/check.hpp"

namespace muster {
namespace {

constexpr std::string_view kNames[] = {"direct", "halving_doubling", "hierarchical", "one_shot"};

}  // namespace

std::string_view text_of(Algorithm algorithm) {
  return kNames[static_cast<std::size_t>(algorithm)];
}

std::optional<Algorithm> algorithm_of(std::string_view text) {
  for (const Algorithm algorithm : kAlgorithms) {
    if (text_of(algorithm) == text) return algorithm;
  }
  return std::nullopt;
}

Parents tree_of(Algorithm algorithm, std::span<const std::uint32_t> hosts, std::uint32_t owner) {
  const auto members = static_cast<std::uint32_t>(hosts.size());
  MUSTER_CHECK(owner < members, owner, members);
  switch (algorithm) {
    case Algorithm::direct:
    case Algorithm::one_shot:
      break;
    case Algorithm::halving_doubling:
      return halving_doubling_tree(members, owner);
    case Algorithm::hierarchical:
      return hierarchical_tree(hosts, owner);
  }
  return direct_tree(members, owner);
}

// For halving and doubling by the bits of their numbers, the last one first: what goes to one partner lies in
// one piece then.
std::vector<std::uint32_t> owners_in_order(Algorithm algorithm, std::uint32_t members) {
  std::vector<std::uint32_t> owners(members);
  std::iota(owners.begin(), owners.end(), 0u);
  if (algorithm != Algorithm::halving_doubling) return owners;
  const auto reversed = [](std::uint32_t number) {
    std::uint32_t result = 0;
    for (int bit = 0; bit < 32; ++bit) result |= ((number >> bit) & 1u) << (31 - bit);
    return result;
  };
  std::sort(owners.begin(), owners.end(), [&](auto a, auto b) { return reversed(a) < reversed(b); });
  return owners;
}

}  // namespace muster
