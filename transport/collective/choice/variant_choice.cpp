#include "transport/collective/choice/variant_choice.hpp"

#include <algorithm>
#include <limits>

namespace muster {

void SharedTimes::add(const VariantTimes& times) {
  for (std::size_t variant = 0; variant < times.size(); ++variant) {
    sums_[variant] += times[variant];
    unknown_[variant] = unknown_[variant] || times[variant] == 0;
  }
}

SumVariant SharedTimes::best(std::size_t variants) const {
  std::size_t best = 0;
  for (std::size_t variant = 1; variant < variants; ++variant) {
    if (unknown_[0] || unknown_[variant]) continue;
    if (sums_[variant] * 10 < sums_[0] * 9 && (best == 0 || sums_[variant] < sums_[best])) best = variant;
  }
  return static_cast<SumVariant>(best);
}

bool VariantChoice::tries(std::uint64_t round) const {
  const std::uint64_t turn = kTries * variants_;
  return round < kFirst * turn || round % kEvery < turn;
}

void VariantChoice::begin(const SharedTimes& said) {
  if (rounds_ > 0) remember();
  const std::uint64_t round = rounds_++;
  moved_ = {};
  if (!clock_) return;
  variant_ =
      tries(round) ? static_cast<SumVariant>(round % kEvery / kTries % variants_) : said.best(variants_);
}

// The round that is over, if all have tried the same way in it, and in the one before.
void VariantChoice::remember() {
  const std::uint64_t round = rounds_ - 1;
  if (!tries(round) || round < kWarmUp * kTries * variants_ || moved_.count() <= 0) return;
  if (round % kEvery % kTries != kTries - 1) return;
  const auto variant = static_cast<std::size_t>(variant_);
  times_[variant][tried_[variant]++ % kRemembered] = moved_;
}

VariantTimes VariantChoice::times() const {
  constexpr std::chrono::nanoseconds kMost{std::numeric_limits<std::uint32_t>::max()};
  VariantTimes times{};
  for (std::size_t variant = 0; variant < variants_; ++variant) {
    if (tried_[variant] < kRemembered) continue;
    const auto least = *std::min_element(times_[variant].begin(), times_[variant].end());
    times[variant] = static_cast<std::uint32_t>(std::min(least, kMost).count());
  }
  return times;
}

}  // namespace muster
