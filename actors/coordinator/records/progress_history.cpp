#include "actors/coordinator/records/progress_history.hpp"

#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "actors/trainer/trainer_state.hpp"

namespace muster {

ProgressHistory::ProgressHistory(const Job& job)
    : every_(job.report.progress_every),
      clips_(job.train.clip_norm.has_value()),
      schedule_(make_schedule(job.train.optimizer.learning_rate)) {}

// By steps: the first one of which is told in each span of so many. Who goes back begins anew.
bool ProgressHistory::is_due(const Progress& progress, std::chrono::nanoseconds now) const {
  if (every_.steps == 0) return every_.time.count() > 0 && now - last_at_ >= every_.time;
  const std::uint64_t last = last_ && last_->step < progress.step ? last_->step : 0;
  return progress.step / every_.steps > last / every_.steps;
}

std::optional<ProgressRow> ProgressHistory::take(const Progress& progress,
                                                 std::chrono::nanoseconds since_begin) {
  // Each replica tells. A step that was passed is news only where all have gone back, in a later view.
  if (last_ && progress.step <= last_->step && (progress.step == last_->step || progress.took <= last_took_))
    return std::nullopt;
  if (!is_due(progress, since_begin)) return std::nullopt;
  ProgressRow row;
  row.time_ms = std::chrono::duration<double, std::milli>(since_begin).count();
  row.epoch = progress.epoch;
  row.step = progress.step;
  row.samples = progress.samples;
  row.loss = progress.loss;
  row.learning_rate = schedule_->rate(progress.step);
  if (clips_) row.gradient_norm = progress.gradient_norm;
  if (last_ && last_->samples < row.samples && row.time_ms > last_->time_ms)
    row.samples_per_second =
        static_cast<double>(row.samples - last_->samples) / (row.time_ms - last_->time_ms) * 1000;
  last_ = row;
  last_took_ = progress.took;
  last_at_ = since_begin;
  rows_.keep(row);
  return row;
}

void ProgressRows::keep(const ProgressRow& row) {
  std::erase_if(rows_, [&](const ProgressRow& each) { return each.step >= row.step; });
  if (!rows_.empty() && ++since_kept_ < apart_) return;
  since_kept_ = 0;
  rows_.push_back(row);
  if (rows_.size() < kMax) return;
  for (std::size_t i = 1; 2 * i < rows_.size(); ++i) rows_[i] = rows_[2 * i];
  rows_.resize(rows_.size() / 2);
  since_kept_ = apart_;  // the last one has gone
  apart_ *= 2;
}

ProgressRow progress_row(const Event& event) {
  const auto count = [&](const char* key) { return static_cast<std::uint64_t>(event.integer(key, 0)); };
  ProgressRow row;
  row.time_ms = event.time_ms;
  row.epoch = count("epoch");
  row.step = count("step");
  row.samples = count("samples");
  row.loss = event.number("loss");
  row.learning_rate = event.number("learning_rate");
  row.samples_per_second = event.number("samples_per_second");
  row.gradient_norm = event.number("gradient_norm");
  return row;
}

Event event_of(const ProgressRow& row) {
  std::vector<std::pair<std::string, EventValue>> fields{{"epoch", number(row.epoch)},
                                                         {"step", number(row.step)},
                                                         {"samples", number(row.samples)},
                                                         {"loss", row.loss},
                                                         {"learning_rate", row.learning_rate}};
  if (row.samples_per_second > 0) fields.emplace_back("samples_per_second", row.samples_per_second);
  if (row.gradient_norm > 0) fields.emplace_back("gradient_norm", row.gradient_norm);
  return make_event("progress", std::move(fields));
}

}  // namespace muster
