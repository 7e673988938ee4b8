#include "actors/rules/steps/step_events.hpp"

#include <algorithm>

#include "actors/events/event.hpp"

namespace muster {

void StepEvents::begin_epoch() {
  seen_ = {};
}

std::vector<Event> StepEvents::of(const RoundRecord& record) {
  for (const ShardReport& report : record.shards)
    seen_.longest = std::max<std::uint64_t>(seen_.longest, report.rows);
  const std::uint64_t full = fixed_full_rows_ > 0 ? fixed_full_rows_ : seen_.longest;
  const auto is_short = [&](const ShardReport& report) { return report.present() && report.rows < full; };
  const bool all_short = std::all_of(record.shards.begin(), record.shards.end(), is_short);
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };

  std::vector<Event> events;
  for (const ShardReport& report : record.shards) {
    if (is_short(report) && !all_short) {
      events.push_back(make_event("short", {{"scope", "shard"},
                                            {"shard", number(report.shard)},
                                            {"epoch", number(record.epoch)},
                                            {"step", number(record.step)},
                                            {"rows", number(report.rows)},
                                            {"full", number(full)}}));
    }
    if (report.ended == 1 && seen_.told_shards.insert(report.shard).second) {
      events.push_back(make_event("exhausted", {{"scope", "shard"},
                                                {"shard", number(report.shard)},
                                                {"epoch", number(record.epoch)},
                                                {"step", number(record.step)}}));
    }
  }
  return events;
}

}  // namespace muster
