// Which of a round's sums is meant, and how far they are.
#include <algorithm>

#include "muster/error.hpp"
#include "transport/collective/reduction/reduction.hpp"

namespace muster {

bool Reduction::sketching() const {
  const RoundReports& reports = slot(round_).reports;
  return plans_.has(SumNumber::kSketch) && reports.opened() && reports.own_header().kind == RoundKind::sketch;
}

TreeSum& Reduction::open_sum() const {
  const bool one_shot = variants_.variant() == SumVariant::one_shot;
  const std::uint32_t of_step = one_shot ? SumNumber::kOneShot : SumNumber::kStep;
  return slot(round_).sums.at(sketching() ? SumNumber::kSketch : of_step);
}

TreeSum& Reduction::sum_of(const Frame& frame) {
  return slot(frame.round).sums.at(elements_in(frame).sum);
}

// While this member still computes.
void Reduction::measure_hidden(Slot& current) {
  if (!current.contributed) current.hidden.look(open_sum().under_way(), [this] { return now(); });
}

bool Reduction::folding() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.sums.folding(); });
}

bool Reduction::fold_on() try {
  bool any = false;
  {
    const Inside inside(inside_);
    for (Slot& slot : slots_) any = slot.sums.fold_on() || any;
  }
  if (any) step_on();
  return any;
} catch (const Error& error) {
  const bool first = !failed_;
  fail_here(error.what());
  return first;
}

}  // namespace muster
