#include "actors/replica/duties/bookkeeping.hpp"

#include <algorithm>
#include <utility>

#include "actors/events/event.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

bool all_shards_ended(const RoundRecord& record) {
  return std::all_of(record.shards.begin(), record.shards.end(), [](const ShardReport& report) {
    return !report.present() && report.ended != ShardReport::kLeftOut;
  });
}

// Whether the round had nothing but shards that it went on without. These are waited for: to go on without
// them once more would leave every step to come empty, too.
bool only_left_out(const RoundRecord& record) {
  return std::all_of(record.shards.begin(), record.shards.end(),
                     [](const ShardReport& report) { return report.ended != 0; });
}

double mean_loss(const RoundRecord& record) {
  double loss = 0, weight = 0;
  for (const ShardMetrics& metrics : record.metrics) {
    loss += metrics.loss;
    weight += metrics.weight;
  }
  return weight > 0 ? loss / weight : 0;
}

}  // namespace

bool Bookkeeping::count(const RoundRecord& record) {
  try {
    position_->count(record);
  } catch (const Error& error) {
    context_.trouble(error.what());
    return false;
  }
  raise_dropped(record, position_->defer_left_out(record));
  if (all_shards_ended(record)) return true;
  raise_step_events(record);
  raise_if_starved(record);
  return true;
}

// Each holder says which of its shards were left out.
void Bookkeeping::raise_dropped(const RoundRecord& record, const std::vector<std::uint32_t>& shards) const {
  std::vector<std::uint32_t> own;
  for (const std::uint32_t shard : shards) {
    if (shard >= context_.assignment.begin && shard < context_.assignment.end) own.push_back(shard);
  }
  if (own.empty()) return;
  context_.raise(
      make_event("dropped", {{"replica", static_cast<std::int64_t>(context_.setup.slot)},
                             {"shards", std::to_string(own.front()) + "-" + std::to_string(own.back())},
                             {"epoch", static_cast<std::int64_t>(record.epoch)},
                             {"step", static_cast<std::int64_t>(record.step)}}));
}

void Bookkeeping::raise_step_events(const RoundRecord& record) {
  for (Event& event : position_->events_of(record)) {
    if (context_.speaks()) context_.raise(std::move(event));
  }
}

void Bookkeeping::raise_if_starved(const RoundRecord& record) const {
  const auto starved = times_.starved();
  if (!starved) return;
  context_.raise(make_event("starved", {{"replica", static_cast<std::int64_t>(context_.setup.slot)},
                                        {"epoch", static_cast<std::int64_t>(record.epoch)},
                                        {"step", static_cast<std::int64_t>(record.step)},
                                        {"waited_ms", starved->waited_s * 1e3},
                                        {"computed_ms", starved->computed_s * 1e3}}));
}

void Bookkeeping::step_applied(const RoundRecord& record, double gradient_norm, std::uint32_t took) {
  const auto move = position_->schedule().step_committed();
  const std::uint64_t every = context_.job().report.progress_every.steps;
  if (times_.updated(context_.now(), every > 0 && record.step % every == 0)) {
    context_.port->to_node(
        Progress{record.epoch, record.step, position_->samples(), mean_loss(record), gradient_norm, took});
  }
  moved(move);
}

void Bookkeeping::weightless(const RoundRecord& record) {
  moved(only_left_out(record) ? position_->schedule().all_ended() : position_->schedule().weightless());
}

void Bookkeeping::evaluated(const RoundRecord& record) {
  position_->evaluated(record);
  report_epoch();
  position_->schedule().evaluated();
}

void Bookkeeping::moved(const RoundSchedule::Move& move) {
  if (move.epoch_ended && position_->close_epoch(move.data_ended)) report_epoch();
}

void Bookkeeping::report_epoch() {
  const EpochEnd& epoch = position_->report_epoch();
  if (!replacement_.wanted()) report(epoch);  // else its steps are done again
}

void Bookkeeping::report(EpochEnd epoch) const {
  epoch.view = context_.view().number;
  context_.port->to_node(std::move(epoch));
}

void Bookkeeping::report_told() const {
  for (const EpochEnd& epoch : position_->told()) report(epoch);
}

}  // namespace muster
