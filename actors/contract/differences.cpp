// The gradient against finite differences of the loss.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>

#include "actors/contract/guarded_vector.hpp"
#include "actors/contract/model_check.hpp"
#include "muster/random.hpp"

namespace muster {

namespace {

const std::string kDifferences = "the gradient is that of the loss, by finite differences";
constexpr double kGood = 0.05, kBad = 0.2;
constexpr double kNothing = 0.01;                             // of what the gradient says
constexpr double kSmallStep = 0.01;                           // where a float32 loss has digits left
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

  bool all_zero() const { return norm(std::span(gradient_).first(layout_.parameters)) == 0; }

  std::vector<const LayoutEntry*> largest_tensors(std::size_t most) const {
    std::vector<const LayoutEntry*> all;
    for (const LayoutEntry& entry : layout_.entries) {
      if (entry.offset < layout_.parameters && slope_of(entry) > 0) all.push_back(&entry);
    }
    std::ranges::sort(all, std::greater<>(), [this](const LayoutEntry* entry) { return slope_of(*entry); });
    if (all.size() > most) all.resize(most);
    const double largest = all.empty() ? 0 : slope_of(*all.front());
    std::erase_if(all, [&](const LayoutEntry* entry) {
      const double slope = slope_of(*entry), change = 2 * kSteps[0] * size_of(*entry) * slope;
      return slope < kRoundingOfSlopes * largest || change < kRoundingOfLoss * std::abs(loss_);
    });
    return all;
  }

  double slope_of(const LayoutEntry& entry) const { return norm(part(gradient_, entry)); }

  /// By how much the loss changes along a tensor's gradient, for each unit of length.
  struct Measured {
    double nearest = 0;  ///< to what the gradient says
    double between = 0;  ///< of what lies on both sides, at a small step
  };
  Measured measured(const LayoutEntry& entry) {
    const double slope = slope_of(entry);
    const auto along = part(gradient_, entry);
    std::optional<double> best;
    double between = 0;
    for (const double step : kSteps) {
      const double length = step * size_of(entry);
      const double behind = (at(entry, along, length / slope) - loss_) / length;
      const double before = (loss_ - at(entry, along, -length / slope)) / length;
      if (step >= kSmallStep) between = (before + behind) / 2;
      const double found = step > kSmallStep ? between : at_kink(slope, before, behind);
      if (!best || std::abs(found - slope) < std::abs(*best - slope)) best = found;
      if (std::abs(*best - slope) < kGood * slope) break;
    }
    return {*best, between};
  }

  /// Where the gradient is 0: whether the loss changes with this tensor all the same, more in one direction
  /// than in the other one. At the bottom of a valley it does not.
  bool changes_without_slope(const LayoutEntry& entry) {
    std::vector<float> along(entry.count);
    SplitMix64 random(trial_.seed);
    for (float& value : along) value = random.next_signed_unit();
    const double scale = size_of(entry) / norm(along);
    for (const double step : kSteps) {
      const double behind = at(entry, along, step * scale) - loss_;
      const double before = at(entry, along, -step * scale) - loss_;
      const double odd = std::abs(behind - before) / 2, even = std::abs(behind + before) / 2;
      if (odd > kRoundingOfLoss * std::abs(loss_) && odd > even) return true;
    }
    return false;
  }

  const Layout& layout() const { return layout_; }

 private:
  static std::span<const float> part(std::span<const float> values, const LayoutEntry& entry) {
    return values.subspan(entry.offset, entry.count);
  }

  // At a kink (ReLU, L1) any slope between the two sides is one of the loss. That holds at small steps, too;
  // at large ones the sides may differ because the loss is curved.
  static double at_kink(double slope, double before, double behind) {
    return std::clamp(slope, std::min(before, behind), std::max(before, behind));
  }

  double size_of(const LayoutEntry& entry) const { return std::max(norm(part(trial_.state, entry)), 0.1); }

  double loss(std::span<const float> state, std::span<float> gradient) {
    return trial_.model.gradient(state, trial_.batch, {trial_.seed, 1, 1, 0}, gradient).loss;
  }

  double at(const LayoutEntry& entry, std::span<const float> along, double factor) {
    for (std::size_t i = 0; i < entry.count; ++i)
      moved_[entry.offset + i] = static_cast<float>(trial_.state[entry.offset + i] + factor * along[i]);
    const double found = loss(moved_, scratch_);
    std::ranges::copy(part(trial_.state, entry), moved_.begin() + static_cast<std::ptrdiff_t>(entry.offset));
    return found;
  }

  const ModelTrial& trial_;
  const Layout& layout_;
  std::vector<float> gradient_, moved_, scratch_;
  const double loss_;
};

struct Slope {
  const LayoutEntry* entry;
  double said;
  Differences::Measured measured;

  bool fits() const { return std::abs(measured.nearest - said) <= kBad * said; }
  double found() const {
    return std::abs(measured.between - said) > kBad * said ? measured.between : measured.nearest;
  }
  /// The gradient is so many times that of the loss.
  double factor() const { return said / (fits() ? measured.nearest : found()); }
};

std::string slope_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// Whether all slopes are wrong by the same factor.
bool all_by(double factor, const std::vector<Slope>& slopes) {
  return std::ranges::all_of(slopes, [&](const Slope& slope) {
    return std::abs(slope.factor() - factor) <= kBad / 2 * std::abs(factor);
  });
}

Breach breach_of(const std::string& key, const Slope& wrong, const std::vector<Slope>& all) {
  std::string found = "'" + wrong.entry->name + "': the gradient says that the loss changes by " +
                      slope_text(wrong.said) + " along it, the loss changes by " + slope_text(wrong.found()) +
                      ": ";
  const double factor = wrong.factor();
  const std::string where = all_by(factor, all) && all.size() > 1
                                ? " in all " + std::to_string(all.size()) + " tensors that were tried"
                                : "";
  if (std::abs(factor + 1) <= kBad)
    return {key, kDifferences, found + "the wrong sign" + where,
            "gradient() gives the slope of the loss; the optimizer subtracts it"};
  if (std::abs(wrong.found()) < kNothing * wrong.said)
    return {key, kDifferences, found + "next to nothing",
            "does the loss that gradient() returns depend on this tensor, and is it that of the gradient?"};
  found += "the gradient is " + slope_text(factor) + " times that of the loss" + where;
  if (factor < 0) return {key, kDifferences, found, "a wrong sign, and a factor, or a wrong path"};
  return {key, kDifferences, found,
          where.empty() ? "a factor in this tensor's part, or a path that the backward pass leaves out"
                        : "a factor in the loss or in the gradient that the other one does not have"};
}

// A gradient of 0 cannot be held against the loss; a loss that changes is held against it.
std::optional<Breach> of_zero_gradient(const ModelTrial& trial, Differences& differences,
                                       std::size_t tensors_max, ContractLog& log) {
  std::size_t tried = 0;
  for (const LayoutEntry& entry : differences.layout().entries) {
    if (entry.offset >= differences.layout().parameters || entry.count == 0) continue;
    if (tried == tensors_max || log.time_is_over()) break;
    ++tried;
    if (differences.changes_without_slope(entry))
      return Breach{trial.key, kDifferences,
                    "the gradient is 0 in all tensors, but the loss changes with '" + entry.name + "'",
                    "is the backward pass called, and are its results copied to the gradient?"};
  }
  log.give_up(kDifferences,
              "the gradient is 0 in all tensors, so that nothing could be tried: nothing would be learned "
              "from these samples");
  return std::nullopt;
}

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
    log.give_up(kDifferences, "the numbers are not finite");
    return std::nullopt;
  }
  if (differences.all_zero()) return of_zero_gradient(trial, differences, tensors_max, log);
  std::vector<Slope> all;
  for (const LayoutEntry* entry : differences.largest_tensors(tensors_max)) {
    if (log.time_is_over()) break;
    all.push_back({entry, differences.slope_of(*entry), differences.measured(*entry)});
  }
  const auto wrong = std::ranges::find_if(all, [](const Slope& slope) { return !slope.fits(); });
  if (wrong != all.end()) return breach_of(trial.key, *wrong, all);
  if (all.empty())
    log.give_up(kDifferences, log.time_is_over()
                                  ? "no time was left"
                                  : "along no tensor does the loss change by more than rounding may: "
                                    "nothing could be tried");
  return std::nullopt;
}

}  // namespace muster
