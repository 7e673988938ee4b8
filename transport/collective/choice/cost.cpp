#include "transport/collective/choice/cost.hpp"

#include <algorithm>

#include "transport/collective/sums/sum_plan.hpp"

namespace muster {
namespace {

std::size_t hops_to(const Parents& parents, std::uint32_t member, std::uint32_t owner) {
  std::size_t hops = 0;
  for (; member != owner; member = parents[member]) ++hops;
  return hops;
}

// The nodes that each member sends to its parent: of all shards that are below it.
std::vector<std::size_t> nodes_sent(const ReductionShape& shape, const Parents& parents,
                                    std::uint32_t owner) {
  std::vector<std::vector<LeafInterval>> below(parents.size());
  for (std::uint32_t member = 0; member < parents.size(); ++member) {
    const LeafInterval shards{shape.members[member].begin, shape.members[member].end};
    for (std::uint32_t above = member; above != owner; above = parents[above]) below[above].push_back(shards);
  }
  std::vector<std::size_t> nodes;
  for (auto& intervals : below)
    nodes.push_back(cover_of(tree_height(shape.shards), std::move(intervals)).size());
  return nodes;
}

}  // namespace

ReductionCost cost_of(const ReductionShape& shape) {
  ReductionCost cost;
  cost.sent_by.resize(shape.members.size());
  std::vector<std::uint32_t> hosts;
  for (const ReductionMember& member : shape.members) hosts.push_back(member.host);
  const auto count = [&](std::uint32_t from, std::uint32_t to, std::size_t elements, bool rounded) {
    const bool between = hosts[from] != hosts[to];
    const std::size_t bytes = elements * (between && rounded ? shape.wire.bytes() : sizeof(float));
    cost.elements += elements;
    cost.bytes += bytes;
    cost.sent_by[from] += elements;
    if (!between) return;
    cost.elements_between_hosts += elements;
    cost.bytes_between_hosts += bytes;
  };
  if (adds_everywhere(shape.algorithm)) {
    for (std::uint32_t from = 0; from < hosts.size(); ++from) {
      const LeafInterval shards{shape.members[from].begin, shape.members[from].end};
      const std::size_t nodes = cover_of(tree_height(shape.shards), {shards}).size();
      for (std::uint32_t to = 0; to < hosts.size(); ++to) {
        if (to != from) count(from, to, shape.elements * nodes, true);
      }
    }
    cost.hops = hosts.size() > 1 ? 1 : 0;
    return cost;
  }
  const SumPlan plan(shape);
  for (std::uint32_t owner = 0; owner < hosts.size(); ++owner) {
    std::size_t range = 0;
    for (const SumPlan::Piece& piece : plan.pieces()) range += piece.owner == owner ? piece.count : 0;
    if (range == 0) continue;
    const Parents parents = tree_of(shape.algorithm, hosts, owner);
    const auto nodes = nodes_sent(shape, parents, owner);
    for (std::uint32_t member = 0; member < hosts.size(); ++member) {
      if (member == owner) continue;
      count(member, parents[member], range * nodes[member], true);
      count(parents[member], member, range, !shape.sharded);
      cost.hops = std::max(cost.hops, 2 * hops_to(parents, member, owner));
    }
    if (const std::uint32_t buddy = shape.members[owner].buddy; shape.sharded && buddy != owner)
      count(owner, buddy, range, false);
  }
  return cost;
}

}  // namespace muster
