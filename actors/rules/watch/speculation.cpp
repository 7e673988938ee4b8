#include "actors/rules/watch/speculation.hpp"

#include <algorithm>

namespace muster {

namespace {

std::vector<Errand> nodes_of(std::uint32_t shards, const std::vector<LateReplica>& late) {
  const unsigned height = tree_height(shards);
  std::vector<Errand> errands;
  for (const LateReplica& replica : late) {
    for (const NodeId node : cover(height, replica.begin, replica.end)) {
      const LeafInterval leaves = leaves_below(height, node);
      errands.push_back({0, replica.slot, node, leaves.begin, std::min(leaves.end, shards)});
    }
  }
  std::sort(errands.begin(), errands.end(), [](const Errand& a, const Errand& b) {
    const auto size_a = a.end - a.begin, size_b = b.end - b.begin;
    return size_a != size_b ? size_a > size_b : a.begin < b.begin;
  });
  return errands;
}

}  // namespace

std::vector<Errand> deal_errands(std::uint32_t shards, const std::vector<LateReplica>& late,
                                 std::vector<Helper> helpers) {
  std::erase_if(helpers, [&](const Helper& helper) {
    return std::any_of(late.begin(), late.end(),
                       [&](const LateReplica& replica) { return replica.slot == helper.slot; });
  });
  if (helpers.empty()) return {};
  std::sort(helpers.begin(), helpers.end(), [](const Helper& a, const Helper& b) { return a.slot < b.slot; });
  double most = 0;  // who is not known is taken for the slowest of those who are
  for (const Helper& helper : helpers) most = std::max(most, helper.seconds_per_shard);
  const auto speed = [&](const Helper& helper) {
    return helper.seconds_per_shard > 0 ? helper.seconds_per_shard : most > 0 ? most : 1.0;
  };
  std::vector<Errand> errands = nodes_of(shards, late);
  std::vector<double> busy(helpers.size(), 0);
  for (Errand& errand : errands) {
    const auto through = [&](std::size_t h) {
      return busy[h] + (errand.end - errand.begin) * speed(helpers[h]);
    };
    std::size_t best = 0;
    for (std::size_t h = 1; h < helpers.size(); ++h) {
      if (through(h) < through(best)) best = h;
    }
    busy[best] = through(best);
    errand.helper = helpers[best].slot;
  }
  return errands;
}

}  // namespace muster
