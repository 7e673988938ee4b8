#include "actors/contract/tried_model.hpp"

#include <cstdio>
#include <cstring>
#include <limits>

#include "actors/contract/batch_rows.hpp"
#include "actors/contract/layout_check.hpp"
#include "muster/random.hpp"

namespace muster {

TriedModel::TriedModel(const ModelTrial& trial)
    : trial_(trial),
      layout_(trial.model.layout()),
      batch_(with_margin(trial.batch, std::numeric_limits<float>::quiet_NaN())),  // not what is written over
      first_(layout_.total()) {}

Breach TriedModel::broken(const std::string& check, const std::string& found,
                          const std::string& likely) const {
  return {trial_.key, check, found, likely};
}

std::string TriedModel::element(std::size_t index) const {
  return element_text(layout_, index);
}

// A model may know how many shards, epochs and steps there are, and do in turn what the step says.
StepKey TriedModel::other_key(std::uint64_t number) const {
  return {mix(trial_.seed, number), 1, 1, 0};
}

void TriedModel::compute_first() {
  metrics_ = gradient(batch_, first_, first_key());
  computed_ = true;
}

bool TriedModel::draws(const ContractLog& log) {
  constexpr std::uint64_t kAtLeast = 6, kAtMost = 48;
  if (draws_) return *draws_;
  draws_ = false;
  GuardedFloats other(layout_.total());
  for (std::uint64_t number = 1; number <= kAtMost && !*draws_; ++number) {
    if (number > kAtLeast && log.time_is_over()) break;
    const bool next = number == 2 && trial_.steps > 1;  // it may draw from the step alone
    const Metrics metrics = gradient(batch_, other, next ? StepKey{trial_.seed, 1, 2, 0} : other_key(number));
    draws_ = std::memcmp(&metrics.loss, &metrics_.loss, sizeof metrics.loss) != 0 ||
             !same_bits(first_.values(), other.values());
  }
  return *draws_;
}

bool same_bits(std::span<const float> one, std::span<const float> other) {
  return std::memcmp(one.data(), other.data(), one.size_bytes()) == 0;
}

std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace muster
