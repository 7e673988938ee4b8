// A model with a bad memory. "flipping": the linear model, which flips a bit in the process with whose number
// there is a file: once, of the weights that it is given; or of every gradient from then on.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/namespaces/failing.hpp"

namespace muster::flipping {

inline float flipped(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (1u << 12));
}

class FlippingModel : public Model {
 public:
  FlippingModel(std::unique_ptr<Model> model, const Options& given)
      : model_(std::move(model)),
        flip_(option<std::string>(given, "fail")),
        weights_(option<std::string>(given, "flips") == "weights") {}

  const Layout& layout() const override { return model_->layout(); }
  void initialize(std::uint64_t seed, std::span<float> state) override { model_->initialize(seed, state); }
  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    const bool flips = failing::told_to_fail(flip_) && !(weights_ && has_flipped_);
    if (flips) has_flipped_ = true;
    if (flips && weights_) {
      float& weight = const_cast<float&>(state[0]);  // as a faulty memory would
      weight = flipped(weight);
    }
    const Metrics metrics = model_->gradient(state, batch, key, gradient);
    if (flips && !weights_) gradient[0] = flipped(gradient[0]);
    return metrics;
  }
  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    return model_->evaluate(state, batch);
  }

 private:
  std::unique_ptr<Model> model_;
  std::string flip_;
  bool weights_;
  bool has_flipped_ = false;
};

inline void add_to(Registry& registry) {
  std::vector<OptionSpec> model = linear_options();
  model.push_back(failing::fail_option());
  OptionSpec flips;
  flips.key = "flips";
  flips.type = OptionType::text;
  flips.help = "weights: a bit of them, once; gradients: a bit of each";
  flips.default_value = Option(std::string("weights"));
  model.push_back(flips);
  registry.add_model("flipping", model, [](const Options& given, const ModelContext& context) {
    return std::make_unique<FlippingModel>(make_linear(given, context), given);
  });
}

}  // namespace muster::flipping
