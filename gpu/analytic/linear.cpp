#include "gpu/analytic/linear.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.hpp"
#include "muster/error.hpp"
#include "muster/random.hpp"

namespace muster {
namespace {

class Linear final : public Model {
 public:
  Linear(std::size_t inputs, std::size_t outputs) : inputs_(inputs), outputs_(outputs), error_(outputs) {
    layout_.add_parameter("weight", {static_cast<std::int64_t>(outputs), static_cast<std::int64_t>(inputs)});
    layout_.add_parameter("bias", {static_cast<std::int64_t>(outputs)});
  }

  const Layout& layout() const override { return layout_; }

  void initialize(std::uint64_t seed, std::span<float> state) override {
    MUSTER_CHECK(state.size() == layout_.total(), state.size(), layout_.total());
    const auto bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(inputs_)));
    SplitMix64 random(seed);
    for (auto& value : state) value = bound * random.next_signed_unit();
  }

  void check_batch(const Batch& batch) const override {
    const bool has_both = batch.tensors.size() >= 2 && batch.tensors[0].dtype == DType::float32 &&
                          batch.tensors[1].dtype == DType::float32;
    if (!has_both)
      throw JobError("data.source", "model linear takes samples of two float32 fields, inputs and targets");
    check_field(batch, 0, "model.inputs", inputs_);
    check_field(batch, 1, "model.outputs", outputs_);
  }

  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey&,
                   std::span<float> gradient) override {
    MUSTER_CHECK(gradient.size() == layout_.total(), gradient.size(), layout_.total());
    std::ranges::fill(gradient, 0.0F);
    Metrics metrics;
    for_each_row(state, batch, metrics, [&](const float* input) {
      for (std::size_t o = 0; o < outputs_; ++o) {
        const float grad = 2.0F * error_[o];
        float* row = gradient.data() + o * inputs_;
        for (std::size_t i = 0; i < inputs_; ++i) row[i] += grad * input[i];
        gradient[outputs_ * inputs_ + o] += grad;
      }
    });
    return metrics;
  }

  // Parts as from a backward pass: what is declared last is final first.
  Metrics gradient_in_parts(std::span<const float> state, const Batch& batch, const StepKey& key,
                            std::span<float> gradient, const PartReady& ready) override {
    const Metrics metrics = this->gradient(state, batch, key, gradient);
    ready(outputs_ * inputs_, outputs_);
    for (std::size_t o = outputs_; o-- > 0;) ready(o * inputs_, inputs_);
    return metrics;
  }

  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    Metrics metrics;
    for_each_row(state, batch, metrics, [](const float*) {});
    return metrics;
  }

 private:
  /// Computes error_ = W x + b - y of each row, adds its square to the loss, and hands the row's input on.
  template <class Visit>
  void for_each_row(std::span<const float> state, const Batch& batch, Metrics& metrics, Visit&& visit) {
    MUSTER_CHECK(state.size() == layout_.total(), state.size(), layout_.total());
    check_batch(batch);
    const float* inputs = batch.tensors[0].as<float>().data();
    const float* targets = batch.tensors[1].as<float>().data();
    for (std::uint32_t r = 0; r < batch.rows; ++r, inputs += inputs_, targets += outputs_) {
      for (std::size_t o = 0; o < outputs_; ++o) {
        const float* weights = state.data() + o * inputs_;
        float sum = state[outputs_ * inputs_ + o];
        for (std::size_t i = 0; i < inputs_; ++i) sum += weights[i] * inputs[i];
        error_[o] = sum - targets[o];
        metrics.loss += static_cast<double>(error_[o]) * static_cast<double>(error_[o]);
      }
      visit(inputs);
    }
  }

  static void check_field(const Batch& batch, std::size_t field, const char* key, std::size_t wanted) {
    const std::size_t rows = std::size_t{batch.rows} + batch.padding;
    const std::size_t elements = batch.tensors[field].as<float>().size();
    if (elements == rows * wanted) return;
    throw JobError(key, "model linear takes " + std::to_string(wanted) + " numbers in field " +
                            std::to_string(field) + " of a sample, the source gives " +
                            std::to_string(rows == 0 ? 0 : elements / rows));
  }

  std::size_t inputs_;
  std::size_t outputs_;
  std::vector<float> error_;
  Layout layout_;
};

}  // namespace

std::vector<OptionSpec> linear_options() {
  return {{"inputs",
           OptionType::integer,
           "numbers in the input of one sample",
           Option{std::int64_t{1}},
           1,
           1 << 20,
           {}},
          {"outputs",
           OptionType::integer,
           "numbers in the target of one sample",
           Option{std::int64_t{1}},
           1,
           1 << 20,
           {}}};
}

std::unique_ptr<Model> make_linear(const Options& options, const ModelContext&) {
  return std::make_unique<Linear>(static_cast<std::size_t>(option<std::int64_t>(options, "inputs")),
                                  static_cast<std::size_t>(option<std::int64_t>(options, "outputs")));
}

}  // namespace muster
