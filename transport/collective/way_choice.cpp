#include "muster/transport/collective/way_choice.hpp"

#include <algorithm>

namespace muster {

bool WayChoice::tries(std::uint64_t round) const {
  return round < kFirst * ways_ || round % kEvery < ways_;
}

void WayChoice::begin(bool agreed) {
  if (rounds_ > 0) remember();
  const std::uint64_t round = rounds_++;
  moved_ = {};
  if (!clock_) return;
  const std::size_t trees = std::min(ways_, static_cast<std::size_t>(SumWay::one_shot));
  way_ = tries(round) ? static_cast<SumWay>(round % kEvery % ways_) : agreed ? SumWay::one_shot : best(trees);
}

// The round that is over, if all have tried the same way in it.
void WayChoice::remember() {
  const std::uint64_t round = rounds_ - 1;
  if (!tries(round) || round < kWarmUp * ways_ || moved_.count() <= 0) return;
  const auto way = static_cast<std::size_t>(way_);
  times_[way][tried_[way]++ % kRemembered] = moved_;
}

// Another way than the first must be worth it: who goes on with the sums finds them in no cache, or has added
// up what somebody else has, too.
SumWay WayChoice::best(std::size_t ways) const {
  const auto least = [this](std::size_t way) {
    return *std::min_element(times_[way].begin(), times_[way].end());
  };
  std::size_t best = 0;
  for (std::size_t way = 1; way < ways; ++way) {
    if (tried_[0] < kRemembered || tried_[way] < kRemembered) continue;
    if (least(way) * 10 < least(0) * 9 && (best == 0 || least(way) < least(best))) best = way;
  }
  return static_cast<SumWay>(best);
}

}  // namespace muster
