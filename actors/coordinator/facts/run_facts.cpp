#include "actors/coordinator/facts/run_facts.hpp"

#include <algorithm>

#include "actors/coordinator/states/next_view.hpp"

namespace muster {

bool RunFacts::in_force() const {
  return !end.decided() && !end.keeps_state() && phase == CoordinatorPhase::running;
}

bool RunFacts::unknown_members_may_come() const {
  return phase == CoordinatorPhase::forming && gathering.waits_for_unknown_members();
}

bool RunFacts::is_going_back() const {
  return reads_checkpoint(view, setup.job.train.in_parts()) && !took_effect;
}

// A coordinator that was started again knows it by heartbeats first.
std::uint64_t RunFacts::steps_done() const {
  std::uint64_t most = report.steps;
  for (const auto& [who, record] : membership->nodes()) {
    if (membership->alive(who)) most = std::max(most, record.last.step);
  }
  return most;
}

bool RunFacts::comes_later(const NodeName& who) const {
  const View& made = phase == CoordinatorPhase::noting ? pending.view() : view;
  return !begun && made.number > 0 && !made.holds(who);
}

bool RunFacts::goes_on_without(const NodeName& who) const {
  const bool of_the_view =
      membership->member(who) && view.holds(who);  // a newcomer may close it with the others
  return (begun || comes_later(who)) &&
         (end.keeps_state() || !of_the_view || setup.job.cluster.on_loss == OnLoss::go_on);
}

}  // namespace muster
