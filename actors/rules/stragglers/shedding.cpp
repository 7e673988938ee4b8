#include "actors/rules/stragglers/shedding.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.hpp"

namespace muster {

namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string milliseconds(double seconds) {
  return std::to_string(std::lround(seconds * 1e3)) + " ms";
}

}  // namespace

std::vector<ShardInterval> deal_by_speed(std::uint32_t shards, std::vector<double> seconds_per_shard) {
  const std::size_t replicas = seconds_per_shard.size();
  MUSTER_CHECK(replicas > 0, shards);
  std::vector<double> known;
  for (const double seconds : seconds_per_shard) {
    if (seconds > 0) known.push_back(seconds);
  }
  const double usual = known.empty() ? 1 : median(known);
  for (double& seconds : seconds_per_shard) seconds = seconds > 0 ? seconds : usual;

  std::vector<std::uint32_t> counts(replicas, 0);
  std::uint32_t left = shards;
  for (std::size_t r = 0; r < replicas && left > 0; ++r, --left) counts[r] = 1;
  for (; left > 0; --left) {
    std::size_t best = 0;
    const auto then = [&](std::size_t r) { return (counts[r] + 1) * seconds_per_shard[r]; };
    for (std::size_t r = 1; r < replicas; ++r) {
      if (then(r) < then(best)) best = r;
    }
    ++counts[best];
  }
  std::vector<ShardInterval> deal;
  std::uint32_t begin = 0;
  for (const std::uint32_t count : counts) {
    deal.push_back({begin, begin + count});
    begin += count;
  }
  return deal;
}

double slowest_seconds(const std::vector<ShardInterval>& deal, const std::vector<double>& seconds_per_shard) {
  double slowest = 0;
  for (std::size_t r = 0; r < deal.size(); ++r) {
    slowest = std::max(slowest, (deal[r].end - deal[r].begin) * seconds_per_shard[r]);
  }
  return slowest;
}

void Shedding::entered(std::vector<std::uint32_t> slots, std::vector<ShardInterval> deal) {
  MUSTER_CHECK(slots.size() == deal.size(), slots.size(), deal.size());
  slots_ = std::move(slots);
  deal_ = std::move(deal);
  promising_ = 0;
  steps_.clear();
  std::erase_if(times_, [&](const auto& entry) {
    return std::find(slots_.begin(), slots_.end(), entry.first) == slots_.end();
  });
}

void Shedding::measured(std::uint32_t slot, std::uint64_t step, double seconds) {
  const auto place = std::find(slots_.begin(), slots_.end(), slot);
  if (place == slots_.end()) return;
  std::uint64_t& last = steps_[slot];
  const ShardInterval& own = deal_[static_cast<std::size_t>(place - slots_.begin())];
  if (step <= last || own.begin == own.end || !(seconds > 0)) return;
  last = step;
  auto& times = times_[slot];
  times.push_back(seconds / (own.end - own.begin));
  if (times.size() > kWindow) times.pop_front();
}

double Shedding::seconds_per_shard(std::uint32_t slot) const {
  const auto found = times_.find(slot);
  if (found == times_.end()) return 0;
  std::vector<double> times(found->second.begin(), found->second.end());
  std::sort(times.begin(), times.end());
  if (times.size() > 2 * kOutliers) times.resize(times.size() - kOutliers);
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

std::vector<ShardInterval> Shedding::deal(const std::vector<std::uint32_t>& slots,
                                          std::uint32_t shards) const {
  std::vector<double> seconds;
  for (const std::uint32_t slot : slots) seconds.push_back(seconds_per_shard(slot));
  return deal_by_speed(shards, std::move(seconds));
}

std::optional<Shedding::Move> Shedding::decide() {
  if (slots_.size() < 2) return std::nullopt;
  std::uint64_t common = ~std::uint64_t{0};
  std::vector<double> seconds;
  std::size_t slow = 0;
  for (std::size_t r = 0; r < slots_.size(); ++r) {
    seconds.push_back(seconds_per_shard(slots_[r]));
    if (seconds[r] > seconds[slow]) slow = r;
    if (deal_[r].begin == deal_[r].end) continue;  // it computes nothing, and tells of nothing
    const auto told = steps_.find(slots_[r]);
    common = std::min(common, told == steps_.end() ? 0 : told->second);
  }
  if (common <= decided_) return std::nullopt;
  decided_ = common;
  const std::uint32_t shards = deal_.back().end;
  const auto better = deal_by_speed(shards, seconds);
  const double now = slowest_seconds(deal_, seconds), then = slowest_seconds(better, seconds);
  if (better == deal_ || now - then < options_.gain_min * now) {
    promising_ = 0;
    if (++calm_ >= kCalmSteps) moves_ = 0;
    return std::nullopt;
  }
  calm_ = 0;
  if (++promising_ < options_.in_a_row << moves_) return std::nullopt;
  promising_ = 0;
  moves_ = std::min(moves_ + 1, kDoublingsMax);
  return Move{better, "replica " + std::to_string(slots_[slow]) + " takes " + milliseconds(seconds[slow]) +
                          " a shard; the slowest replica's part of a step falls from " + milliseconds(now) +
                          " to " + milliseconds(then)};
}

}  // namespace muster
