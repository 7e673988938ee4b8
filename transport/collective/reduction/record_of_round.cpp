#include "transport/collective/reduction/record_of_round.hpp"

#include <algorithm>
#include <span>

namespace muster {

void write_reports(const RoundReports& reports, const Presence& presence, std::uint32_t shards,
                   RoundRecord& record) {
  const RoundHeader& mine = reports.own_header();
  record.round = mine.round;
  record.kind = mine.kind;
  record.epoch = mine.epoch;
  record.step = mine.step;
  record.shards.reserve(shards);
  record.metrics.reserve(shards);
  for (const auto& header : reports.headers()) {
    record.shards.insert(record.shards.end(), header->shards.begin(), header->shards.end());
  }
  for (std::uint32_t member = 0; member < reports.headers().size(); ++member) {
    reports.append_metrics(member, record.metrics);
  }
  const auto by_shard = [](const auto& a, const auto& b) { return a.shard < b.shard; };
  std::sort(record.shards.begin(), record.shards.end(), by_shard);
  std::sort(record.metrics.begin(), record.metrics.end(), by_shard);
  record.weight = presence.weight;
  record.hash = hash_words(mine.record_hash, std::as_bytes(std::span(record.shards)));
  record.hash = hash_words(record.hash, std::as_bytes(std::span(record.metrics)));
}

}  // namespace muster
