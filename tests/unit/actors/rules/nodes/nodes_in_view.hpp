// Tables of nodes that are in a view, for the tests of their rules.
#pragma once

#include "actors/rules/nodes/node_table.hpp"

namespace muster {

inline NodeTable nodes_in_view(std::uint32_t replicas, std::uint32_t loaders = 0, std::uint32_t number = 1) {
  NodeTable nodes;
  View view;
  view.number = number;
  const auto add = [&](const NodeName& name) {
    nodes[name].stage = NodeStage::installed;
    nodes[name].process.incarnation = 7000ull + name.slot;
    Member member = nodes.member_of(name);
    member.since = number;
    (name.loader ? view.loaders : view.replicas).push_back(member);
  };
  for (std::uint32_t slot = 0; slot < replicas; ++slot) add({false, slot});
  for (std::uint32_t slot = 0; slot < loaders; ++slot) add({true, slot});
  nodes.enter(view);
  return nodes;
}

/// One that has joined while the view is in force, and is ready.
inline NodeRecord& add_newcomer(NodeTable& nodes, std::uint32_t slot) {
  NodeRecord& record = nodes[{false, slot}];
  record.stage = NodeStage::prepared;
  return record;
}

}  // namespace muster
