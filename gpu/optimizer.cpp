// Plain element-wise loops in float32, written so that the compiler can vectorise them. Every element is
// computed alone and without contraction, so the bits depend neither on the vector width nor on where the
// vector is cut.
#include "muster/gpu/optimizer.hpp"

#include <cmath>
#include <type_traits>
#include <utility>

#include "muster/config/check.hpp"
#include "muster/gpu/power.hpp"

namespace muster {
namespace {

/// Stochastic gradient descent as torch.optim.SGD has it (dampening 0): momentum after Polyak 1964 with the
/// rate outside the buffer; Nesterov momentum after Sutskever et al. 2013.
class Sgd final : public Optimizer {
 public:
  Sgd(const SgdOptions& options, std::shared_ptr<const Schedule> schedule, std::size_t count)
      : options_(options),
        schedule_(std::move(schedule)),
        momentum_(options.momentum != 0 ? count : 0),
        count_(count) {}

  void update(std::uint64_t step, std::size_t first, std::span<float> parameters,
              std::span<const float> gradient) override {
    apply(step, first, parameters, gradient, std::span<float>(momentum_));
  }

  void foretell(std::uint64_t step, std::size_t first, std::span<float> parameters,
                std::span<const float> gradient) const override {
    apply(step, first, parameters, gradient, std::span<const float>(momentum_));
  }

  std::vector<Slot> slots() override {
    if (momentum_.empty()) return {};
    return {{"momentum", momentum_}};
  }

 private:
  void check(std::uint64_t step, std::size_t first, std::span<const float> parameters,
             std::span<const float> gradient) const {
    MUSTER_CHECK(step >= 1 && parameters.size() == gradient.size() && first + gradient.size() <= count_,
                 "step", step, "sizes", parameters.size(), gradient.size(), "from", first, "of", count_);
  }

  // Value: float, or const float for one that keeps nothing.
  template <class Value>
  void apply(std::uint64_t step, std::size_t first, std::span<float> parameters,
             std::span<const float> gradient, std::span<Value> momentum) const {
    check(step, first, parameters, gradient);
    const auto rate = static_cast<float>(schedule_->rate(step));
    if (momentum.empty()) return plain(rate, parameters, gradient);
    momentum = momentum.subspan(first, parameters.size());
    if (options_.nesterov) return with_momentum<true>(rate, parameters, gradient, momentum);
    with_momentum<false>(rate, parameters, gradient, momentum);
  }

  void plain(float rate, std::span<float> values, std::span<const float> slopes) const {
    const auto decay = static_cast<float>(options_.weight_decay);
    float* __restrict parameters = values.data();
    const float* __restrict gradient = slopes.data();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float slope = gradient[i] + decay * parameters[i];
      parameters[i] -= rate * slope;
    }
  }

  template <bool nesterov, class Value>
  void with_momentum(float rate, std::span<float> values, std::span<const float> slopes,
                     std::span<Value> velocities) const {
    const auto decay = static_cast<float>(options_.weight_decay);
    const auto keep = static_cast<float>(options_.momentum);
    float* __restrict parameters = values.data();
    const float* __restrict gradient = slopes.data();
    Value* __restrict momentum = velocities.data();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float slope = gradient[i] + decay * parameters[i];
      const float velocity = keep * momentum[i] + slope;
      if constexpr (!std::is_const_v<Value>) momentum[i] = velocity;
      parameters[i] -= rate * (nesterov ? slope + keep * velocity : velocity);
    }
  }

  SgdOptions options_;
  std::shared_ptr<const Schedule> schedule_;
  std::vector<float> momentum_;  // zeros before the first step, so that the first velocity is the gradient
  std::size_t count_;
};

/// Adam (Kingma and Ba 2015, algorithm 1) with decay in the gradient, or AdamW (Loshchilov and Hutter 2019,
/// algorithm 2); operations in the order of torch.optim.Adam and torch.optim.AdamW.
class Adam final : public Optimizer {
 public:
  Adam(const AdamOptions& options, std::shared_ptr<const Schedule> schedule, std::size_t count)
      : options_(options), schedule_(std::move(schedule)), average_(count), square_(count) {}

  void update(std::uint64_t step, std::size_t first, std::span<float> parameters,
              std::span<const float> gradient) override {
    apply<float>(factors(step, first, parameters, gradient), parameters, gradient, average_.data() + first,
                 square_.data() + first);
  }

  void foretell(std::uint64_t step, std::size_t first, std::span<float> parameters,
                std::span<const float> gradient) const override {
    apply<const float>(factors(step, first, parameters, gradient), parameters, gradient,
                       average_.data() + first, square_.data() + first);
  }

  std::vector<Slot> slots() override { return {{"exp_avg", average_}, {"exp_avg_sq", square_}}; }

 private:
  /// What depends on the step alone: computed in double, cast to float once.
  struct Factors {
    float decay = 0;
    float shrink = 1;
    float step_size = 0;
    float root_scale = 1;
  };

  Factors factors(std::uint64_t step, std::size_t first, std::span<const float> parameters,
                  std::span<const float> gradient) const {
    MUSTER_CHECK(
        step >= 1 && parameters.size() == gradient.size() && first + gradient.size() <= average_.size(),
        "step", step, "sizes", parameters.size(), gradient.size(), "from", first, "of", average_.size());
    const double rate = schedule_->rate(step);
    Factors factors;
    factors.decay = options_.decoupled ? 0.0F : static_cast<float>(options_.weight_decay);
    factors.shrink = options_.decoupled ? static_cast<float>(1.0 - rate * options_.weight_decay) : 1.0F;
    factors.step_size = static_cast<float>(rate / (1.0 - power(options_.beta1, step)));
    factors.root_scale = static_cast<float>(std::sqrt(1.0 - power(options_.beta2, step)));
    return factors;
  }

  // Value: float, or const float for one that keeps nothing.
  template <class Value>
  void apply(const Factors& factors, std::span<float> values, std::span<const float> slopes,
             Value* __restrict average, Value* __restrict square) const {
    const auto beta1 = static_cast<float>(options_.beta1);
    const auto beta2 = static_cast<float>(options_.beta2);
    const auto rest1 = static_cast<float>(1.0 - options_.beta1);
    const auto rest2 = static_cast<float>(1.0 - options_.beta2);
    const auto epsilon = static_cast<float>(options_.epsilon);
    float* __restrict parameters = values.data();
    const float* __restrict gradient = slopes.data();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float weight = parameters[i] * factors.shrink;
      const float slope = gradient[i] + factors.decay * weight;
      const float mean = beta1 * average[i] + rest1 * slope;
      const float variance = beta2 * square[i] + rest2 * slope * slope;
      if constexpr (!std::is_const_v<Value>) {
        average[i] = mean;
        square[i] = variance;
      }
      parameters[i] =
          weight - factors.step_size * mean / (std::sqrt(variance) / factors.root_scale + epsilon);
    }
  }

  AdamOptions options_;
  std::shared_ptr<const Schedule> schedule_;
  std::vector<float> average_;
  std::vector<float> square_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const SgdOptions& options, std::shared_ptr<const Schedule> schedule,
                                    std::size_t count) {
  MUSTER_CHECK(schedule != nullptr);
  MUSTER_CHECK(!options.nesterov || options.momentum > 0, "momentum", options.momentum);
  return std::make_unique<Sgd>(options, std::move(schedule), count);
}

std::unique_ptr<Optimizer> make_adam(const AdamOptions& options, std::shared_ptr<const Schedule> schedule,
                                     std::size_t count) {
  MUSTER_CHECK(schedule != nullptr);
  return std::make_unique<Adam>(options, std::move(schedule), count);
}

}  // namespace muster
