// The last views of a run: where all is trained, and where it is told to end.
#include <algorithm>

#include "muster/actors/rules/roster.hpp"

namespace muster {

Roster::Next Roster::trained_view(const View& last) const {
  Roster all = *this;
  all.min_replicas_ = 1;
  all.needs_loader_ = false;
  return all.next_view(last);
}

Roster::Next Roster::last_view(const View& last) const {
  Roster all = *this;
  for (auto& [name, record] : all.nodes_) {
    if (view_.holds(name)) record.leaving = false;  // a newcomer that asked to go has been let go
  }
  Next next = all.trained_view(last);
  if (next.view) next.view->last = true;
  return next;
}

bool Roster::all_leave() const {
  const std::set<std::uint32_t> left = replicas_left();
  return !left.empty() && std::ranges::all_of(left, [this](std::uint32_t slot) {
    return at({false, slot}).leaving;
  });
}

}  // namespace muster
