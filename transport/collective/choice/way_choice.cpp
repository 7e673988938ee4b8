#include "transport/collective/choice/way_choice.hpp"

#include <algorithm>
#include <limits>

namespace muster {

void SharedTimes::add(const WayTimes& times) {
  for (std::size_t way = 0; way < times.size(); ++way) {
    sums_[way] += times[way];
    unknown_[way] = unknown_[way] || times[way] == 0;
  }
}

SumWay SharedTimes::best(std::size_t ways) const {
  std::size_t best = 0;
  for (std::size_t way = 1; way < ways; ++way) {
    if (unknown_[0] || unknown_[way]) continue;
    if (sums_[way] * 10 < sums_[0] * 9 && (best == 0 || sums_[way] < sums_[best])) best = way;
  }
  return static_cast<SumWay>(best);
}

bool WayChoice::tries(std::uint64_t round) const {
  const std::uint64_t turn = kTries * ways_;
  return round < kFirst * turn || round % kEvery < turn;
}

void WayChoice::begin(const SharedTimes& said) {
  if (rounds_ > 0) remember();
  const std::uint64_t round = rounds_++;
  moved_ = {};
  if (!clock_) return;
  way_ = tries(round) ? static_cast<SumWay>(round % kEvery / kTries % ways_) : said.best(ways_);
}

// The round that is over, if all have tried the same way in it, and in the one before.
void WayChoice::remember() {
  const std::uint64_t round = rounds_ - 1;
  if (!tries(round) || round < kWarmUp * kTries * ways_ || moved_.count() <= 0) return;
  if (round % kEvery % kTries != kTries - 1) return;
  const auto way = static_cast<std::size_t>(way_);
  times_[way][tried_[way]++ % kRemembered] = moved_;
}

WayTimes WayChoice::times() const {
  constexpr std::chrono::nanoseconds kMost{std::numeric_limits<std::uint32_t>::max()};
  WayTimes times{};
  for (std::size_t way = 0; way < ways_; ++way) {
    if (tried_[way] < kRemembered) continue;
    const auto least = *std::min_element(times_[way].begin(), times_[way].end());
    times[way] = static_cast<std::uint32_t>(std::min(least, kMost).count());
  }
  return times;
}

}  // namespace muster
