#include "transport/simulated/nodes.hpp"

#include "base/check.hpp"

namespace muster::simulated {

std::shared_ptr<Link> other_side(const Link& link) {
  const auto found = link.owner->inbound.find({link.remote->number, link.sequence});
  return found == link.owner->inbound.end() ? nullptr : found->second;
}

Node& Nodes::attach(const std::string& name) {
  const auto old = names_.find(name);
  MUSTER_CHECK(old == names_.end() || !old->second->alive, "a node of this name lives: ", name);
  const std::string address = name + "#" + std::to_string(++lives_[name]);
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  auto& node = nodes_[address] = std::make_unique<Node>();
  node->name = name;
  node->address = address;
  node->number = number;
  names_[name] = node.get();
  return *node;
}

Node* Nodes::live(const std::string& name) const {
  const auto found = names_.find(name);
  return found != names_.end() && found->second->alive ? found->second : nullptr;
}

Node* Nodes::at(const std::string& address) const {
  const auto found = nodes_.find(address);
  return found == nodes_.end() ? nullptr : found->second.get();
}

void Nodes::end_pauses() {
  for (const auto& [address, node] : nodes_) {
    node->paused = false;
    node->waiting.clear();
  }
}

}  // namespace muster::simulated
