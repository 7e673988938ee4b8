#include "logistic.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "muster/error.hpp"

namespace {

class Logistic final : public muster::Model {
 public:
  explicit Logistic(std::size_t inputs) : inputs_(inputs) {
    const auto columns = static_cast<std::int64_t>(inputs);
    layout_.add_parameter("weight", {columns});
    layout_.add_parameter("weight_of_square", {columns});
    layout_.add_parameter("bias", {1});
  }

  const muster::Layout& layout() const override { return layout_; }

  void initialize(std::uint64_t, std::span<float> state) override { std::ranges::fill(state, 0.0F); }

  // A job whose model and source do not fit is refused before it starts, at the key that is named here.
  void check_batch(const muster::Batch& batch) const override {
    const std::size_t rows = std::size_t{batch.rows} + batch.padding;
    if (batch.tensors.size() != 2 || batch.tensors[0].dtype != muster::DType::float32 ||
        batch.tensors[1].dtype != muster::DType::int64 || batch.tensors[1].as<std::int64_t>().size() != rows)
      throw muster::JobError("data.source", "a sample must be float32 numbers and one int64, its label");
    if (const std::size_t given = batch.tensors[0].as<float>().size() / rows; given != inputs_)
      throw muster::JobError("model.inputs", "the model takes " + std::to_string(inputs_) +
                                                 " numbers, a sample of the source has " +
                                                 std::to_string(given));
    for (const std::int64_t label : batch.tensors[1].as<std::int64_t>().first(batch.rows)) {
      if (label != 0 && label != 1)
        throw muster::JobError("data.source", "labels are 0 and 1, there is " + std::to_string(label));
    }
  }

  muster::Metrics gradient(std::span<const float> state, const muster::Batch& batch, const muster::StepKey&,
                           std::span<float> gradient) override {
    std::ranges::fill(gradient, 0.0F);
    muster::Metrics metrics;
    for (std::uint32_t row = 0; row < batch.rows; ++row) {  // rows beyond batch.rows are padding
      const float* x = sample(batch, row);
      const float slope = add(metrics, state, x, batch.tensors[1].as<std::int64_t>()[row]);
      for (std::size_t i = 0; i < inputs_; ++i) {
        gradient[i] += slope * x[i];
        gradient[inputs_ + i] += slope * x[i] * x[i];
      }
      gradient[2 * inputs_] += slope;
    }
    return metrics;
  }

  muster::Metrics evaluate(std::span<const float> state, const muster::Batch& batch) override {
    muster::Metrics metrics;
    for (std::uint32_t row = 0; row < batch.rows; ++row) {
      add(metrics, state, sample(batch, row), batch.tensors[1].as<std::int64_t>()[row]);
    }
    return metrics;
  }

 private:
  const float* sample(const muster::Batch& batch, std::uint32_t row) const {
    return batch.tensors[0].as<float>().data() + row * inputs_;
  }

  // Adds one sample to the metrics; returns the slope of its loss over its score.
  float add(muster::Metrics& metrics, std::span<const float> state, const float* x,
            std::int64_t label) const {
    float score = state[2 * inputs_];
    for (std::size_t i = 0; i < inputs_; ++i) score += state[i] * x[i] + state[inputs_ + i] * x[i] * x[i];
    const float chance = 1 / (1 + std::exp(-score));
    const float of_label = label == 1 ? chance : 1 - chance;
    metrics.loss -= std::log(std::max(of_label, 1e-12F));
    metrics.correct += (chance >= 0.5F) == (label == 1) ? 1 : 0;
    return chance - static_cast<float>(label);
  }

  const std::size_t inputs_;
  muster::Layout layout_;
};

}  // namespace

std::vector<muster::OptionSpec> logistic_options() {
  return {{"inputs",
           muster::OptionType::integer,
           "numbers in one sample",
           muster::Option{std::int64_t{2}},
           1,
           1000,
           {}}};
}

std::unique_ptr<muster::Model> make_logistic(const muster::Options& options, const muster::ModelContext&) {
  return std::make_unique<Logistic>(
      static_cast<std::size_t>(muster::option<std::int64_t>(options, "inputs")));
}
