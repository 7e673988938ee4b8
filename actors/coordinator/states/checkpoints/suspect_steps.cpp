#include "actors/coordinator/states/checkpoints/suspect_steps.hpp"

#include <algorithm>
#include <limits>

namespace muster {

std::uint64_t SuspectSteps::good_before() const {
  return from_.value_or(std::numeric_limits<std::uint64_t>::max());
}

void SuspectSteps::suspect(std::uint64_t from) {
  from_ = std::min(from, from_.value_or(from));
}

void SuspectSteps::suspected_before(std::uint64_t from) {
  suspect(from);
  suspected_before_ = true;
}

void SuspectSteps::forget() {
  from_.reset();
  doubt_.reset();
  suspected_before_ = false;
}

bool SuspectSteps::is_news(std::uint32_t view, std::uint8_t bits, const Judgement& judgement) {
  if (std::exchange(reported_in_, view) != view) reported_.clear();
  const bool goes_on = judgement.act == Judgement::Act::report;
  if (!goes_on && !reported_.empty()) return false;
  return reported_.emplace(bits, goes_on ? judgement.odd : std::vector<std::uint32_t>{}).second;
}

void SuspectSteps::judged(const Judgement& judgement, Bits bits, std::uint64_t from, bool applied,
                          const std::vector<std::uint32_t>& slots) {
  if (judgement.act == Judgement::Act::again && applied && !from_)
    doubt(from, slots);
  else if (bits == Bits::gradient && judgement.sure)
    doubt_.reset();
}

bool SuspectSteps::settled_by(std::uint64_t step, const View& view) {
  if (!doubt_ || step < view.doubted_to || view.number <= reported_in_) return false;
  doubt_.reset();
  return true;
}

bool SuspectSteps::can_be_settled_in(const View& view) const {
  return !doubt_ || std::ranges::all_of(doubt_->slots, [&](std::uint32_t slot) {
    return view.holds(NodeName{false, slot});
  });
}

void SuspectSteps::compare_again(std::uint64_t from, std::uint64_t step, const View& view) {
  compared_next_ = {std::min(from, step), step};
  if (view.doubted_to >= step)  // it is in the middle of another doubt
    compared_next_ = {std::min(compared_next_->first, view.doubted_from), view.doubted_to};
}

void SuspectSteps::compare_given_up(std::uint64_t done, const View& view) {
  if (!std::exchange(suspected_before_, false)) return;
  const std::uint64_t from = *from_, to = std::max(from, done);
  const bool is_first = view.doubted_to == 0;
  compared_next_ = {is_first ? from : std::min(from, view.doubted_from), std::max(to, view.doubted_to)};
}

}  // namespace muster
