// The last views of a run: where all is trained, and where it is told to end.
#include <algorithm>

#include "actors/rules/membership/membership.hpp"

namespace muster {

bool Membership::trained() const {
  return std::ranges::any_of(nodes_, [this](const auto& node) {
    return !node.first.loader && node.second.trained && alive(node.first) &&
           (view_.holds(node.first) || replicas_left().empty());
  });
}

void Membership::begin_again() {
  for (auto& [name, record] : nodes_) record.trained = false;
}

Membership::Next Membership::trained_view(const View& last) const {
  Membership all = *this;
  all.min_replicas_ = 1;
  all.needs_loader_ = false;
  return all.next_view(last);
}

Membership::Next Membership::last_view(const View& last) const {
  Membership all = *this;
  for (auto& [name, record] : all.nodes_) {
    if (view_.holds(name)) record.leaving = false;  // a newcomer that asked to go has been let go
  }
  Next next = all.trained_view(last);
  if (next.view) next.view->last = true;
  return next;
}

bool Membership::all_leave() const {
  const std::set<std::uint32_t> left = replicas_left();
  return !left.empty() && std::ranges::all_of(left, [this](std::uint32_t slot) {
    return at({false, slot}).leaving;
  });
}

}  // namespace muster
