#include "actors/coordinator/states/checkpoints/attempt_verdicts.hpp"

#include <algorithm>
#include <utility>

namespace muster {

std::uint64_t AttemptVerdicts::enter() {
  if (std::exchange(given_up_, false)) ++history_;
  return history_;
}

// The disk of the members' journal may have been full. If the next view did not begin another attempt, nobody
// could write a checkpoint any more.
std::optional<std::uint64_t> AttemptVerdicts::remember(const std::vector<Verdict>& in_folder) {
  const std::uint64_t of_members = history_;
  std::optional<std::uint64_t> from;
  for (const Verdict& verdict : in_folder) {
    if (!goes_before(of_members, verdict.history)) continue;
    history_ = std::max(history_, verdict.history);
    from = std::min(verdict.from_step, from.value_or(verdict.from_step));
    given_up_ = true;
  }
  return from;
}

void AttemptVerdicts::add(std::uint64_t from) {
  if (!is_void(all_, history_, from)) all_.push_back({history_, from});
}

bool AttemptVerdicts::add_abandoned(std::uint64_t history, std::uint64_t step,
                                    const std::vector<Verdict>& in_folder) {
  const Verdict verdict{history - 1, step + 1};
  if (is_void(in_folder, verdict.history, verdict.from_step)) return false;
  all_.push_back(verdict);
  return true;
}

bool AttemptVerdicts::tries_again() {
  return !marked_ && ++ticks_ % kTicksBetweenTries == 0;
}

void AttemptVerdicts::marked_late() {
  marked_ = true;
  suspects_stay_ = false;
}

AttemptVerdicts::Notice AttemptVerdicts::set_aside(bool marked, bool renamed) {
  const bool was_marked = std::exchange(marked_, marked);
  const bool stayed = std::exchange(suspects_stay_, !marked && !renamed);
  if (suspects_stay_) return stayed ? Notice::none : Notice::stay;
  return marked || !was_marked ? Notice::none : Notice::not_marked;
}

}  // namespace muster
