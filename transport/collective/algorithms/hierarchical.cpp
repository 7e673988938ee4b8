// Within a host first: for each range the members of a host add up what they have at one of them, which alone
// speaks with the owner. Between two hosts a range goes once each way: the fewest bytes where several members
// share a host.
#include <algorithm>
#include <map>

#include "transport/collective/algorithms/algorithm.hpp"

namespace muster {

Parents hierarchical_tree(std::span<const std::uint32_t> hosts, std::uint32_t owner) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> members;  // by host
  for (std::uint32_t member = 0; member < hosts.size(); ++member) members[hosts[member]].push_back(member);
  // Ranges are dealt to the members of each host in the same way as to those of the owner's.
  const auto& home = members[hosts[owner]];
  const auto place = static_cast<std::size_t>(std::find(home.begin(), home.end(), owner) - home.begin());
  Parents parents(hosts.size());
  for (const auto& [host, here] : members) {
    const std::uint32_t speaker = host == hosts[owner] ? owner : here[place % here.size()];
    for (const std::uint32_t member : here) parents[member] = speaker;
    parents[speaker] = owner;
  }
  return parents;
}

}  // namespace muster
