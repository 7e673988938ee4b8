#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.hpp"
#include "gpu/optimizer/optimizer.hpp"
#include "gpu/optimizer/power.hpp"

namespace muster {
namespace {

/// Linear rise over the first `steps` steps, then 1 (Goyal et al. 2017, "Accurate, Large Minibatch SGD",
/// section 2.2).
double warm_up_factor(std::uint64_t step, std::uint64_t steps) {
  return step >= steps ? 1.0 : static_cast<double>(step) / static_cast<double>(steps);
}

class ConstantSchedule final : public Schedule {
 public:
  explicit ConstantSchedule(const ScheduleOptions& options) : options_(options) {}
  double rate(std::uint64_t step) const override {
    return options_.initial * warm_up_factor(step, options_.warm_up);
  }

 private:
  ScheduleOptions options_;
};

class StepSchedule final : public Schedule {
 public:
  explicit StepSchedule(const ScheduleOptions& options) : options_(options) {}
  double rate(std::uint64_t step) const override {
    const double decay = power(options_.factor, (step - 1) / options_.every);
    return options_.initial * decay * warm_up_factor(step, options_.warm_up);
  }

 private:
  ScheduleOptions options_;
};

/// Half a cosine from initial to final (Loshchilov and Hutter 2017, "SGDR", equation 5, without restarts).
class CosineSchedule final : public Schedule {
 public:
  explicit CosineSchedule(const ScheduleOptions& options) : options_(options) {}
  double rate(std::uint64_t step) const override {
    if (step >= options_.steps) return options_.final_rate;
    if (step <= options_.warm_up) return options_.initial * warm_up_factor(step, options_.warm_up);
    const double progress =
        static_cast<double>(step - options_.warm_up) / static_cast<double>(options_.steps - options_.warm_up);
    const double fraction = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    return options_.final_rate + (options_.initial - options_.final_rate) * fraction;
  }

 private:
  ScheduleOptions options_;
};

}  // namespace

std::unique_ptr<Schedule> make_schedule(const ScheduleOptions& options) {
  switch (options.kind) {
    case ScheduleOptions::Kind::constant:
    case ScheduleOptions::Kind::warm_up:
      return std::make_unique<ConstantSchedule>(options);
    case ScheduleOptions::Kind::step:
      MUSTER_CHECK(options.every > 0, "every", options.every);
      return std::make_unique<StepSchedule>(options);
    case ScheduleOptions::Kind::cosine:
      MUSTER_CHECK(options.steps > 0, "steps", options.steps);
      return std::make_unique<CosineSchedule>(options);
  }
  MUSTER_CHECK(false, "schedule kind", static_cast<int>(options.kind));
  return nullptr;
}

}  // namespace muster
