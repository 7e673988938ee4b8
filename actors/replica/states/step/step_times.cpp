#include "actors/replica/states/step/step_times.hpp"

#include <utility>

#include "muster/intervals.hpp"

namespace muster {

namespace {

constexpr double kStarvedSecondsMin = 0.005;  // below, waiting is the noise of threads waking up

}  // namespace

double StepTimes::lap(Time now) {
  const auto before = std::exchange(lap_, now);
  return before ? std::chrono::duration<double>(now - *before).count() : 0;
}

void StepTimes::begin(Time now) {
  told_ = {};
  lap(now);
}

void StepTimes::gathered(Time now) {
  waited_s_ = lap(now);
  phases_.wait_for_batch_s += waited_s_;
}

void StepTimes::computed(Time now, bool second) {
  const double seconds = lap(now);
  computed_s_ = seconds + (second ? computed_s_ : 0);
  phases_.compute_s += seconds;
}

void StepTimes::evaluated(Time now) {
  computed_s_ = lap(now);
  phases_.evaluate_s += computed_s_;
}

void StepTimes::reduced(const RoundRecord& round, Time now) {
  traffic_ += round.sent;
  phases_.reduce_s += lap(now);
}

void StepTimes::recorded(const RoundRecord& record, Time now, bool given) {
  waits_.round_done(record, lap_.value_or(Time{}));
  traffic_ += record.sent;
  const double took = lap(now);
  if (!given) phases_.reduce_s += took;
  phases_.reduce_hidden_s += std::chrono::duration<double>(record.hidden).count();
}

bool StepTimes::updated(Time now, bool asked) {
  phases_.update_s += lap(now);
  if (now - told_ < kProgressTimeMin && !asked) return false;
  told_ = now;
  return true;
}

std::optional<StepTimes::Starved> StepTimes::starved() const {
  if (waited_s_ < kStarvedSecondsMin || waited_s_ <= computed_s_) return std::nullopt;
  return Starved{waited_s_, computed_s_};
}

PhaseTimes StepTimes::phases() const {
  PhaseTimes phases = phases_;
  waits_.fill(phases);
  return phases;
}

}  // namespace muster
