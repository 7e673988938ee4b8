#include "actors/rules/nodes/stages.hpp"

#include <algorithm>

namespace muster {

namespace {

std::vector<NodeName> members_not_at(const NodeTable& nodes, NodeStage stage) {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes) {
    if (is_member(record) && record.stage != stage) names.push_back(name);
  }
  return names;
}

}  // namespace

bool all_are(const NodeTable& nodes, NodeStage stage, bool replicas_only) {
  return std::ranges::all_of(nodes, [&](const auto& node) {
    const auto& [name, record] = node;
    return (replicas_only && name.loader) || !nodes.waits_for(record) || record.stage == stage;
  });
}

std::vector<NodeName> nodes_behind(const NodeTable& nodes, NodeStage stage) {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes) {
    if (nodes.waits_for(record) && record.stage < stage) names.push_back(name);
  }
  return names;
}

NodeStage stage_behind(const NodeTable& nodes) {
  for (const NodeStage stage : {NodeStage::joined, NodeStage::prepared}) {
    if (!nodes_behind(nodes, stage).empty()) return stage;
  }
  return NodeStage::installed;
}

std::vector<NodeName> nodes_behind(const NodeTable& nodes) {
  return nodes_behind(nodes, stage_behind(nodes));
}

std::vector<NodeName> not_closed(const NodeTable& nodes) {
  return members_not_at(nodes, NodeStage::closed);
}

std::vector<NodeName> not_installed(const NodeTable& nodes) {
  return members_not_at(nodes, NodeStage::installed);
}

bool all_have_begun(const NodeTable& nodes, std::uint32_t view) {
  return std::ranges::all_of(nodes, [&](const auto& node) {
    const NodeRecord& record = node.second;
    return !nodes.waits_for(record) || (record.view.begun && record.view.number == view);
  });
}

}  // namespace muster
