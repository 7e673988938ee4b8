#include "actors/coordinator/states/pending_view.hpp"

namespace muster {

PendingView::Duration PendingView::refuse(const View& view, Time now, Duration give_up) {
  journal_.refused(now);
  const auto wait = journal_.next(now, give_up);
  const Duration until_next = wait.value_or(Duration(0));
  pending_ = Pending{view, now + until_next, !wait, true};
  journal_.back_off();
  return until_next;
}

void PendingView::make_at(const View& view, Time when) {
  journal_.end();
  pending_ = Pending{view, when, false, false};
}

PendingView::Due PendingView::due(const Waiting& waiting, Time now) const {
  const bool returns = waiting.for_members && journal_.waits();
  if (is_over()) {
    const bool asked = waiting.anew || waiting.for_view || returns;
    return asked && (waiting.anew || now >= pending_->again) ? Due::give_up : Due::nothing;
  }
  if (waiting.anew || (!waiting.for_view && !returns) || now < pending_->again) return Due::nothing;
  if (returns) return Due::lacking;
  return pending_->made ? Due::install : Due::make;
}

}  // namespace muster
