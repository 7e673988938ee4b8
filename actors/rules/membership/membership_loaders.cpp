// Loader processes, and whether a run can go on without them.
#include <algorithm>

#include "actors/rules/membership/membership.hpp"

namespace muster {

bool Membership::any_loader() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [this](const auto& node) {
    return node.first.loader && alive(node.first) && !node.second.leaving;
  });
}

std::string Membership::misses_loader(const View& view) const {
  if (!needs_loader_ || !view.loaders.empty()) return {};
  if (!loads_here_) return "a loader process";
  for (const Member& member : view.replicas) {
    if (!at(member.name).prepared.loads)
      return "a loader process, for " + member.name.text() + " cannot read the data itself";
  }
  return {};
}

}  // namespace muster
