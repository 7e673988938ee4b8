// A model in a shared library: linear regression whose loss grows with the square of small errors, and only
// linearly with large ones (Huber 1964), so that a few wild samples do not pull the weights away.
//
//   muster run examples/model_library/huber.toml
//
// Elsewhere, a model of one's own means a training script of one's own. Here the job names the library, and
// the program stays the one that is installed.
#include <algorithm>
#include <cmath>

#include "muster/error.hpp"
#include "muster/model_library.hpp"

namespace {

class Huber final : public muster::Model {
 public:
  Huber(std::size_t inputs, double knee) : inputs_(inputs), knee_(knee) {
    layout_.add_parameter("weight", {static_cast<std::int64_t>(inputs)});
    layout_.add_parameter("bias", {1});
  }

  const muster::Layout& layout() const override { return layout_; }

  void initialize(std::uint64_t, std::span<float> state) override { std::ranges::fill(state, 0.0F); }

  void check_batch(const muster::Batch& batch) const override {
    const auto fits = [&](std::size_t tensor, std::size_t elements) {
      return batch.tensors[tensor].dtype == muster::DType::float32 &&
             batch.tensors[tensor].as<float>().size() == elements * (batch.rows + batch.padding);
    };
    if (batch.tensors.size() < 2 || !fits(0, inputs_) || !fits(1, 1))
      throw muster::JobError("model.inputs", "samples must be float32 [" + std::to_string(inputs_) +
                                                 "] and [1]: is model.inputs equal to data.inputs?");
  }

  muster::Metrics gradient(std::span<const float> state, const muster::Batch& batch, const muster::StepKey&,
                           std::span<float> gradient) override {
    std::ranges::fill(gradient, 0.0F);
    muster::Metrics metrics;
    for (std::uint32_t row = 0; row < batch.rows; ++row) {
      const float* x = inputs_of(batch, row);
      const auto slope = static_cast<float>(std::clamp(error(state, batch, row), -knee_, knee_));
      for (std::size_t i = 0; i < inputs_; ++i) gradient[i] += slope * x[i];
      gradient[inputs_] += slope;
      metrics.loss += loss(error(state, batch, row));
    }
    return metrics;
  }

  muster::Metrics evaluate(std::span<const float> state, const muster::Batch& batch) override {
    muster::Metrics metrics;
    for (std::uint32_t row = 0; row < batch.rows; ++row) metrics.loss += loss(error(state, batch, row));
    return metrics;
  }

 private:
  const float* inputs_of(const muster::Batch& batch, std::uint32_t row) const {
    return batch.tensors[0].as<float>().data() + row * inputs_;
  }

  double error(std::span<const float> state, const muster::Batch& batch, std::uint32_t row) const {
    const float* x = inputs_of(batch, row);
    float sum = state[inputs_];
    for (std::size_t i = 0; i < inputs_; ++i) sum += state[i] * x[i];
    return sum - batch.tensors[1].as<float>()[row];
  }

  double loss(double error) const {
    const double size = std::abs(error);
    return size <= knee_ ? error * error / 2 : knee_ * (size - knee_ / 2);
  }

  const std::size_t inputs_;
  const double knee_;
  muster::Layout layout_;
};

}  // namespace

MUSTER_MODEL_LIBRARY(registry) {
  using muster::Option;
  using muster::OptionType;
  registry.add_model(
      "huber",
      {{"inputs", OptionType::integer, "numbers in one sample", Option{std::int64_t{16}}, 1, 1 << 20, {}},
       {"knee",
        OptionType::number,
        "error from which on the loss grows linearly",
        Option{1.0},
        1e-6,
        {},
        {}}},
      [](const muster::Options& options, const muster::ModelContext&) {
        return std::make_unique<Huber>(
            static_cast<std::size_t>(muster::option<std::int64_t>(options, "inputs")),
            muster::option<double>(options, "knee"));
      });
}
