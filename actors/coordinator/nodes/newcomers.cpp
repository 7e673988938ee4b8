#include "actors/coordinator/nodes/newcomers.hpp"

#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"

namespace muster {

// A newcomer gets its state from a member, while the others train on.
void Newcomers::feed_newcomers() {
  if (run_.end.keeps_state() ||
      (run_.phase != CoordinatorPhase::running && run_.phase != CoordinatorPhase::paused))
    return;
  const auto donor = run_.membership->transfers().donor();
  if (!donor) return;
  View view = run_.view;
  view.number = run_.membership->at(donor->name).view.number;
  if (view.number != run_.view.number && run_.view.back) return;  // what it holds is not that view's state
  for (const NodeName& who : run_.membership->transfers().without_donor()) {
    if (view.number <
        run_.membership->at(who).view.number) {  // the donor that it had knew of a later view, and is gone
      turn_away(who, "its donor is lost", true);
      continue;
    }
    if (run_.membership->at(who).source.again) end_donation(who);
    run_.membership->transfers().began(who, *donor);
    port_.send(who, Observe{view, *donor});
    port_.send(donor->name, Donate{view.number, run_.membership->member_of(who), false, false});
  }
}

void Newcomers::end_donation(const NodeName& who) {
  const NodeRecord& record = run_.membership->at(who);
  if (!run_.begun || !run_.membership->transfers().has_donor(who)) return;
  port_.send({false, record.source.donor},
             Donate{record.source.view, run_.membership->member_of(who), false, true});
}

void Newcomers::newcomer_ready(const NodeName& who) {
  if (!run_.membership->alive(who)) return;
  if (run_.phase != CoordinatorPhase::running && run_.phase != CoordinatorPhase::paused)
    return run_.membership->transfers().to_begin_again(who);
  const NodeRecord& record = run_.membership->at(who);
  if (!run_.membership->transfers().has_donor(who)) return;
  port_.send({false, record.source.donor},
             Donate{record.source.view, run_.membership->member_of(who), true, false});
}

void Newcomers::turn_away(const NodeName& who, const std::string& reason, bool again) {
  run_.membership->lost(who);
  port_.raise(make_event("refused", {{kind(who), number(who.slot)}, {"reason", reason}}));
  port_.send(who, Stop{false, reason, again});
  end_donation(who);
}

void Newcomers::on(const CaughtUp& message) {
  if (run_.end.decided() || !run_.membership->alive(message.name) ||
      !run_.membership->transfers().has_donor(message.name, message.view))
    return;
  if (run_.membership->at(message.name).source.donor != message.donor)
    return;  // it is given another state now
  // The view is being closed. Where the next one holds it, or is another one, it hears of that.
  if (run_.phase != CoordinatorPhase::running && run_.phase != CoordinatorPhase::paused)
    return run_.membership->transfers().to_begin_again(message.name);
  run_.membership->transfers().caught_up(message);
  if (run_.phase == CoordinatorPhase::running) {
    if (!run_.is_going_back())
      views_.close_view();  // else it would be for nothing; see ViewChange::makes_step
  } else {
    views_.next_view();
  }
}

}  // namespace muster
