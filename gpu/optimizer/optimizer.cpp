// What an update takes from its step is computed here, once, in double; what becomes of each element is in
// elements.hpp, and the device applies it.
#include "gpu/optimizer/optimizer.hpp"

#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "gpu/optimizer/power.hpp"

namespace muster {
namespace {

using elements::AdamFactors;
using elements::From;
using elements::SgdFactors;

/// The factors lie on the device: they are set at each step, and the recorded work reads them there.
template <class Factors>
class Recorded final : public SteadyUpdate {
 public:
  using Of = std::function<Factors(std::uint64_t step)>;
  using Put = std::function<void(const Factors* on_device)>;

  Recorded(std::shared_ptr<ComputeDevice> device, Of factors, Put put)
      : device_(device), factors_(std::move(factors)), on_device_(device, 1) {
    work_ = device_->record([put = std::move(put), at = on_device_.data()] { put(at); });
  }

  void run(std::uint64_t step) override {
    device_->set(factors_(step), on_device_.data());
    work_->replay();
  }

 private:
  std::shared_ptr<ComputeDevice> device_;
  Of factors_;
  DeviceArray<Factors> on_device_;
  std::unique_ptr<RecordedWork> work_;
};

/// Stochastic gradient descent as torch.optim.SGD has it (dampening 0): momentum after Polyak 1964 with the
/// rate outside the buffer; Nesterov momentum after Sutskever et al. 2013.
class Sgd final : public Optimizer {
 public:
  Sgd(const SgdOptions& options, std::shared_ptr<const Schedule> schedule, std::size_t count,
      std::shared_ptr<ComputeDevice> device)
      : options_(options),
        schedule_(std::move(schedule)),
        device_(std::move(device)),
        momentum_(device_, options.momentum != 0 ? count : 0),
        count_(count) {}

  void update(std::uint64_t step, std::size_t first, std::span<float> parameters,
              std::span<const float> gradient) override {
    check(step, first, parameters, gradient);
    put(factors(step), first, parameters, gradient);
  }

  void foretell(std::uint64_t step, std::size_t first, std::span<float> parameters,
                std::span<const float> gradient) const override {
    check(step, first, parameters, gradient);
    if (momentum_.empty()) return device_->vectors().sgd(factors(step), parameters, gradient);
    device_->vectors().foretell_sgd_momentum(factors(step), options_.nesterov, parameters, gradient,
                                             momentum_.span().subspan(first, parameters.size()));
  }

  std::unique_ptr<SteadyUpdate> steady(std::span<float> parameters, std::span<const float> gradient,
                                       const std::function<void()>& before) override {
    check(1, 0, parameters, gradient);
    return std::make_unique<Recorded<SgdFactors>>(
        device_, [this](std::uint64_t step) { return factors(step); },
        [this, parameters, gradient, before](const SgdFactors* on_device) {
          if (before) before();
          put(on_device, 0, parameters, gradient);
        });
  }

  ComputeDevice& device() const override { return *device_; }

  std::vector<Slot> slots() override {
    if (momentum_.empty()) return {};
    return {{"momentum", momentum_.span()}};
  }

 private:
  void check(std::uint64_t step, std::size_t first, std::span<const float> parameters,
             std::span<const float> gradient) const {
    MUSTER_CHECK(step >= 1 && parameters.size() == gradient.size() && first + gradient.size() <= count_,
                 "step", step, "sizes", parameters.size(), gradient.size(), "from", first, "of", count_);
  }

  SgdFactors factors(std::uint64_t step) const {
    return {static_cast<float>(schedule_->rate(step)), static_cast<float>(options_.weight_decay),
            static_cast<float>(options_.momentum)};
  }

  void put(From<SgdFactors> factors, std::size_t first, std::span<float> parameters,
           std::span<const float> gradient) {
    if (momentum_.empty()) return device_->vectors().sgd(factors, parameters, gradient);
    device_->vectors().sgd_momentum(factors, options_.nesterov, parameters, gradient,
                                    momentum_.span().subspan(first, parameters.size()));
  }

  SgdOptions options_;
  std::shared_ptr<const Schedule> schedule_;
  std::shared_ptr<ComputeDevice> device_;
  DeviceFloats momentum_;  // zeros before the first step, so that the first velocity is the gradient
  std::size_t count_;
};

/// Adam (Kingma and Ba 2015, algorithm 1) with decay in the gradient, or AdamW (Loshchilov and Hutter 2019,
/// algorithm 2); operations in the order of torch.optim.Adam and torch.optim.AdamW.
class Adam final : public Optimizer {
 public:
  Adam(const AdamOptions& options, std::shared_ptr<const Schedule> schedule, std::size_t count,
       std::shared_ptr<ComputeDevice> device)
      : options_(options),
        schedule_(std::move(schedule)),
        device_(std::move(device)),
        average_(device_, count),
        square_(device_, count) {}

  void update(std::uint64_t step, std::size_t first, std::span<float> parameters,
              std::span<const float> gradient) override {
    check(step, first, parameters, gradient);
    put(factors(step), first, parameters, gradient);
  }

  void foretell(std::uint64_t step, std::size_t first, std::span<float> parameters,
                std::span<const float> gradient) const override {
    check(step, first, parameters, gradient);
    device_->vectors().foretell_adam(factors(step), parameters, gradient,
                                     part(average_, first, parameters.size()),
                                     part(square_, first, parameters.size()));
  }

  std::unique_ptr<SteadyUpdate> steady(std::span<float> parameters, std::span<const float> gradient,
                                       const std::function<void()>& before) override {
    check(1, 0, parameters, gradient);
    return std::make_unique<Recorded<AdamFactors>>(
        device_, [this](std::uint64_t step) { return factors(step); },
        [this, parameters, gradient, before](const AdamFactors* on_device) {
          if (before) before();
          put(on_device, 0, parameters, gradient);
        });
  }

  ComputeDevice& device() const override { return *device_; }

  std::vector<Slot> slots() override {
    return {{"exp_avg", average_.span()}, {"exp_avg_sq", square_.span()}};
  }

 private:
  static std::span<float> part(const DeviceFloats& all, std::size_t first, std::size_t count) {
    return all.span().subspan(first, count);
  }

  void check(std::uint64_t step, std::size_t first, std::span<const float> parameters,
             std::span<const float> gradient) const {
    MUSTER_CHECK(
        step >= 1 && parameters.size() == gradient.size() && first + gradient.size() <= average_.size(),
        "step", step, "sizes", parameters.size(), gradient.size(), "from", first, "of", average_.size());
  }

  AdamFactors factors(std::uint64_t step) const {
    const double rate = schedule_->rate(step);
    AdamFactors factors;
    factors.beta1 = static_cast<float>(options_.beta1);
    factors.rest1 = static_cast<float>(1.0 - options_.beta1);
    factors.beta2 = static_cast<float>(options_.beta2);
    factors.rest2 = static_cast<float>(1.0 - options_.beta2);
    factors.epsilon = static_cast<float>(options_.epsilon);
    factors.decay = options_.decoupled ? 0.0F : static_cast<float>(options_.weight_decay);
    factors.shrink = options_.decoupled ? static_cast<float>(1.0 - rate * options_.weight_decay) : 1.0F;
    factors.step_size = static_cast<float>(rate / (1.0 - power(options_.beta1, step)));
    factors.root_scale = static_cast<float>(std::sqrt(1.0 - power(options_.beta2, step)));
    return factors;
  }

  void put(From<AdamFactors> factors, std::size_t first, std::span<float> parameters,
           std::span<const float> gradient) {
    device_->vectors().adam(factors, parameters, gradient, part(average_, first, parameters.size()),
                            part(square_, first, parameters.size()));
  }

  AdamOptions options_;
  std::shared_ptr<const Schedule> schedule_;
  std::shared_ptr<ComputeDevice> device_;
  DeviceFloats average_;
  DeviceFloats square_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const SgdOptions& options, std::shared_ptr<const Schedule> schedule,
                                    std::size_t count, std::shared_ptr<ComputeDevice> device) {
  MUSTER_CHECK(schedule != nullptr && device != nullptr);
  MUSTER_CHECK(!options.nesterov || options.momentum > 0, "momentum", options.momentum);
  return std::make_unique<Sgd>(options, std::move(schedule), count, std::move(device));
}

std::unique_ptr<Optimizer> make_adam(const AdamOptions& options, std::shared_ptr<const Schedule> schedule,
                                     std::size_t count, std::shared_ptr<ComputeDevice> device) {
  MUSTER_CHECK(schedule != nullptr && device != nullptr);
  return std::make_unique<Adam>(options, std::move(schedule), count, std::move(device));
}

}  // namespace muster
