#include "actors/rules/watch/wait_share.hpp"

namespace muster {

void WaitShare::round_done(const RoundRecord& record, Time handed_in) {
  if (record.last_report_at <= handed_in) return;  // the others were there before
  const double seconds = std::chrono::duration<double>(record.last_report_at - handed_in).count();
  seconds_ += seconds;
  by_slot_[record.last_report_of] += seconds;
}

void WaitShare::fill(PhaseTimes& phases) const {
  phases.wait_for_peers_s = seconds_;
  phases.waited_most_for = -1;
  phases.waited_most_s = 0;
  for (const auto& [slot, seconds] : by_slot_) {
    if (seconds <= phases.waited_most_s) continue;
    phases.waited_most_for = slot;
    phases.waited_most_s = seconds;
  }
}

}  // namespace muster
