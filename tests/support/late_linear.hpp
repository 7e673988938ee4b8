// The linear model as on a GPU (late_device.hpp): what it is to read is there when it reads it, what it
// writes is in order. On the host it is the linear model.
#pragma once

#include <algorithm>
#include <memory>

#include "gpu/analytic/linear.hpp"
#include "tests/support/late_device.hpp"

namespace muster::testing {

class LateLinear final : public Model {
 public:
  LateLinear(const Options& options, const ModelContext& context)
      : model_(make_linear(options, context)), device_(static_cast<LateDevice*>(context.stream)) {}
  const Layout& layout() const override { return model_->layout(); }
  bool computes_on_gpus() const override { return true; }
  void initialize(std::uint64_t seed, std::span<float> state) override {
    settle();
    model_->initialize(seed, state);
  }
  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    return gradient_in_parts(state, batch, key, gradient, [](std::size_t, std::size_t) {});
  }
  Metrics gradient_in_parts(std::span<const float> state, const Batch& batch, const StepKey& key,
                            std::span<float> gradient, const PartReady& ready) override {
    settle();
    const Metrics metrics = model_->gradient(state, batch, key, gradient);
    for (std::size_t end = gradient.size(); end > 0;) {  // as a backward pass does
      const std::size_t count = std::min<std::size_t>(end, 7);
      ready(end -= count, count);
    }
    return metrics;
  }
  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    settle();
    return model_->evaluate(state, batch);
  }

 private:
  void settle() const {
    if (device_ != nullptr) device_->wait(device_->mark());
  }

  std::unique_ptr<Model> model_;
  LateDevice* device_;  // outlives its models
};

inline std::unique_ptr<Model> make_late_linear(const Options& options, const ModelContext& context) {
  return std::make_unique<LateLinear>(options, context);
}

}  // namespace muster::testing
