// The gradient against finite differences of the loss.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "actors/contract/guarded_vector.hpp"
#include "actors/contract/model_check.hpp"
#include "muster/random.hpp"

namespace muster {

namespace {

const std::string kDifferences = "the gradient is that of the loss, by finite differences";
constexpr double kGood = 0.05, kBad = 0.2;
constexpr double kSteps[] = {0.1, 0.03, 0.01, 0.003, 0.001};  // of the tensor's norm
// A slope that is less than this part of the largest one, and a change that is less than this part of the
// loss, may be rounding in float32 and nothing else.
constexpr double kRoundingOfSlopes = 1e-3, kRoundingOfLoss = 1e-3;

double norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

class Differences {
 public:
  explicit Differences(const ModelTrial& trial)
      : trial_(trial),
        layout_(trial.model.layout()),
        gradient_(layout_.total()),
        moved_(trial.state.begin(), trial.state.end()),
        scratch_(layout_.total()),
        loss_(loss(trial.state, gradient_)) {}

  bool finite() const { return std::isfinite(loss_) && std::isfinite(norm(gradient_)); }

  std::vector<const LayoutEntry*> largest_tensors(std::size_t most) const {
    std::vector<const LayoutEntry*> all;
    for (const LayoutEntry& entry : layout_.entries) {
      if (entry.offset < layout_.parameters && slope_of(entry) > 0) all.push_back(&entry);
    }
    std::ranges::sort(all, std::greater<>(), [this](const LayoutEntry* entry) { return slope_of(*entry); });
    if (all.size() > most) all.resize(most);
    std::erase_if(all, [&](const LayoutEntry* entry) {
      const double slope = slope_of(*entry), change = 2 * kSteps[0] * size_of(*entry) * slope;
      return slope < kRoundingOfSlopes * slope_of(*all.front()) || change < kRoundingOfLoss * std::abs(loss_);
    });
    return all;
  }

  double slope_of(const LayoutEntry& entry) const { return norm(part(gradient_, entry)); }

  /// The change of the loss along the tensor's gradient that is nearest to what the gradient says.
  double measured(const LayoutEntry& entry) {
    const double slope = slope_of(entry);
    double best = 0;
    for (const double step : kSteps) {
      const double length = step * size_of(entry);
      const double behind = (at(entry, length / slope) - loss_) / length;
      const double before = (loss_ - at(entry, -length / slope)) / length;
      // At a kink (ReLU, L1) any slope between the two sides is one of the loss.
      const double found = std::clamp(slope, std::min(before, behind), std::max(before, behind));
      if (std::abs(found - slope) < std::abs(best - slope)) best = found;
      if (std::abs(best - slope) < kGood * slope) break;
    }
    return best;
  }

 private:
  static std::span<const float> part(std::span<const float> values, const LayoutEntry& entry) {
    return values.subspan(entry.offset, entry.count);
  }

  double size_of(const LayoutEntry& entry) const { return std::max(norm(part(trial_.state, entry)), 0.1); }

  double loss(std::span<const float> state, std::span<float> gradient) {
    return trial_.model.gradient(state, trial_.batch, {trial_.seed, 1, 1, 0}, gradient).loss;
  }

  double at(const LayoutEntry& entry, double factor) {
    for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i)
      moved_[i] = static_cast<float>(trial_.state[i] + factor * gradient_[i]);
    const double found = loss(moved_, scratch_);
    std::ranges::copy(part(trial_.state, entry), moved_.begin() + static_cast<std::ptrdiff_t>(entry.offset));
    return found;
  }

  const ModelTrial& trial_;
  const Layout& layout_;
  std::vector<float> gradient_, moved_, scratch_;
  const double loss_;
};

}  // namespace

std::optional<Breach> check_gradient_by_differences(const ModelTrial& trial, std::size_t tensors_max,
                                                    ContractLog& log) {
  if (trial.bfloat16) {
    log.leave_out(kDifferences, "bfloat16 rounds too coarsely for it");
    return std::nullopt;
  }
  if (!log.begin(kDifferences)) return std::nullopt;
  Differences differences(trial);
  if (!differences.finite()) {
    log.leave_out(kDifferences, "the numbers are not finite");
    return std::nullopt;
  }
  for (const LayoutEntry* entry : differences.largest_tensors(tensors_max)) {
    if (log.time_is_over()) break;
    const double slope = differences.slope_of(*entry), found = differences.measured(*entry);
    if (std::abs(found - slope) <= kBad * slope) continue;
    char numbers[160];
    std::snprintf(numbers, sizeof numbers,
                  "the gradient says that the loss changes by %.4g along it, the loss changes by %.4g", slope,
                  found);
    return Breach{trial.key, kDifferences, "'" + entry->name + "': " + numbers,
                  "a factor, a sign, or a path that the backward pass leaves out"};
  }
  return std::nullopt;
}

}  // namespace muster
