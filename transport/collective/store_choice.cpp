#include "muster/transport/collective/store_choice.hpp"

#include <algorithm>

namespace muster {

using kernels::Store;

void StoreChoice::begin() {
  if (rounds_ > 0) remember();
  const std::uint64_t round = rounds_++;
  moved_ = {};
  if (!clock_) return;
  way_ = !tries(round) ? better() : round % 2 == 0 ? Store::cached : Store::streamed;
}

// The round that is over, if all have tried the same way in it.
void StoreChoice::remember() {
  const std::uint64_t round = rounds_ - 1;
  if (!tries(round) || round < kWarmUp || moved_.count() <= 0) return;
  const std::size_t way = way_ == Store::streamed ? 1 : 0;
  times_[way][tried_[way]++ % kRemembered] = moved_;
}

// To pass the caches must be worth it: who goes on with the sums finds them in none.
Store StoreChoice::better() const {
  if (tried_[0] < kRemembered || tried_[1] < kRemembered) return Store::cached;
  const auto least = [](const Times& times) { return *std::min_element(times.begin(), times.end()); };
  return least(times_[1]) * 10 < least(times_[0]) * 9 ? Store::streamed : Store::cached;
}

}  // namespace muster
