#include "actors/rules/nodes/compared_bits.hpp"

#include "actors/messages/clean_steps.hpp"

namespace muster {

void gradients_compared(NodeTable& nodes, std::uint32_t view, const std::vector<std::uint64_t>& clean) {
  const View& in_force = nodes.view();
  if (view != in_force.number || clean.size() != in_force.replicas.size()) return;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    NodeRecord* record = nodes.find(in_force.replicas[i].name);
    if (record) record->bits.clean = later_clean(record->bits.clean, clean[i]);
  }
}

void weights_compared(NodeTable& nodes) {
  for (auto& [name, record] : nodes.all()) {
    record.bits.alone_from = 0;
    // Not of a newcomer that closes the view with its members.
    if (record.member && nodes.view().holds(name)) record.bits.holds_of.clear();
  }
}

}  // namespace muster
