#include "muster/transport/collective/cost.hpp"

#include <algorithm>

#include "muster/transport/collective/sum_plan.hpp"

namespace muster {
namespace {

std::size_t hops_to(const Parents& parents, std::uint32_t member, std::uint32_t owner) {
  std::size_t hops = 0;
  for (; member != owner; member = parents[member]) ++hops;
  return hops;
}

// The nodes that a member sends to its parent: of all shards that are below it.
std::size_t nodes_sent(const ReductionShape& shape, const Parents& parents, std::uint32_t member,
                       std::uint32_t owner) {
  std::vector<LeafInterval> below;
  for (std::uint32_t other = 0; other < parents.size(); ++other) {
    std::uint32_t above = other;
    while (above != member && above != owner) above = parents[above];
    if (above == member) below.push_back({shape.members[other].begin, shape.members[other].end});
  }
  return cover_of(tree_height(shape.shards), std::move(below)).size();
}

}  // namespace

ReductionCost cost_of(const ReductionShape& shape) {
  ReductionCost cost;
  cost.sent_by.resize(shape.members.size());
  std::vector<std::uint32_t> hosts;
  for (const ReductionMember& member : shape.members) hosts.push_back(member.host);
  const auto count = [&](std::uint32_t from, std::uint32_t to, std::size_t elements) {
    cost.elements += elements;
    cost.sent_by[from] += elements;
    if (hosts[from] != hosts[to]) cost.elements_between_hosts += elements;
  };
  const SumPlan plan(shape);
  for (std::uint32_t owner = 0; owner < hosts.size(); ++owner) {
    std::size_t range = 0;
    for (const SumPlan::Piece& piece : plan.pieces()) range += piece.owner == owner ? piece.count : 0;
    if (range == 0) continue;
    const Parents parents = tree_of(shape.algorithm, hosts, owner);
    for (std::uint32_t member = 0; member < hosts.size(); ++member) {
      if (member == owner) continue;
      count(member, parents[member], range * nodes_sent(shape, parents, member, owner));
      count(parents[member], member, range);
      cost.hops = std::max(cost.hops, 2 * hops_to(parents, member, owner));
    }
  }
  return cost;
}

}  // namespace muster
