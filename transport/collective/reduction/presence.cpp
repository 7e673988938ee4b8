#include "transport/collective/reduction/presence.hpp"

#include <algorithm>

namespace muster {

bool has_samples(const RoundHeader& header) {
  return std::any_of(header.shards.begin(), header.shards.end(),
                     [](const ShardReport& report) { return report.present(); });
}

void Presence::reset() {
  any = false;
  shards.clear();
  weight = 0;
}

void Presence::read(const std::vector<Kept<RoundHeader>>& headers, std::uint32_t shard_count,
                    bool with_sums) {
  any = std::any_of(headers.begin(), headers.end(), [](const auto& header) { return has_samples(*header); });
  if (!with_sums || !any) return;
  shards.assign(shard_count, false);
  weights_.assign(shard_count, 0.0);
  for (const auto& header : headers) {
    for (const ShardReport& report : header->shards) {
      if (!report.present() || report.shard >= shard_count) continue;
      shards[report.shard] = true;
      weights_[report.shard] = report.weight;
    }
  }
  for (const double of_shard : weights_) weight += of_shard;  // in the order of shards, on every member alike
}

}  // namespace muster
