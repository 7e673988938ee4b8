#include "transport/collective/tree_sum/settled_role.hpp"

#include <algorithm>
#include <utility>

#include "base/canary.hpp"

namespace muster {
namespace {

// Whether all leaves of `node` are leaves of `above`.
bool is_below(unsigned height, NodeId node, NodeId above) {
  const auto inner = leaves_below(height, node), outer = leaves_below(height, above);
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

bool any_leaf_present(unsigned height, NodeId node, const std::vector<bool>& present) {
  const auto leaves = leaves_below(height, node);
  const auto end = present.begin() + static_cast<long>(std::min<std::size_t>(leaves.end, present.size()));
  return std::find(present.begin() + leaves.begin, end, true) != end;
}

}  // namespace

SettledRole settle_role(const SumPlan::Role& role, unsigned height, const std::vector<bool>& present) {
  SettledRole settled;
  if (!role.owns && !role.adds()) return settled;
  std::vector<NodeId> nodes;
  std::vector<std::uint32_t> inputs;
  for (std::uint32_t i = 0; i < role.inputs.size(); ++i) {
    settled.present.push_back(any_leaf_present(height, role.inputs[i].node, present));
    if (!settled.present.back()) continue;
    nodes.push_back(role.inputs[i].node);
    inputs.push_back(i);
  }
  settled.expected = static_cast<std::uint32_t>(nodes.size()) - (canary("folds-early") ? 1 : 0);
  const std::vector<NodeId> root{1};
  for (const NodeId output : role.owns ? root : role.outputs) {
    SettledRole::Addition addition;
    addition.node = output;
    std::vector<NodeId> below;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!is_below(height, nodes[i], output)) continue;
      below.push_back(nodes[i]);
      addition.inputs.push_back(inputs[i]);
    }
    if (below.empty()) continue;
    addition.program = fold_program(height, below);
    settled.additions.push_back(std::move(addition));
  }
  return settled;
}

}  // namespace muster
