#include "actors/coordinator/states/training_rate.hpp"

#include <algorithm>

namespace muster {

namespace {

double seconds_of(TrainingRate::Time::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void TrainingRate::heard(const Progress& progress, Time now) {
  if (!heard_) heard_ = Heard{now, progress.samples};
  heard_->last = progress;
  heard_->to = now;
}

void TrainingRate::end_at_latest(Time now) {
  if (to_ == Time{}) to_ = now;
}

double TrainingRate::rate() const {
  if (!heard_) return 0;
  const double seconds = seconds_of(heard_->to - heard_->from);
  if (seconds <= 0 || heard_->last.samples <= heard_->samples_before) return 0;
  return static_cast<double>(heard_->last.samples - heard_->samples_before) / seconds;
}

std::optional<TrainingRate::Summary> TrainingRate::sum_up(std::uint64_t samples, std::uint64_t before,
                                                          double evaluating_s) const {
  const bool by_reports = restarted_ && heard_;
  const Time from = by_reports ? heard_->from : from_;
  if (to_ <= from) return std::nullopt;
  Summary summary;
  summary.seconds = seconds_of(to_ - from) - evaluating_s;
  if (summary.seconds <= 0) return summary;
  const std::uint64_t known = by_reports ? heard_->samples_before : before;
  summary.samples_per_second = static_cast<double>(samples - std::min(known, samples)) / summary.seconds;
  return summary;
}

}  // namespace muster
