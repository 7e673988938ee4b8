#include "tests/simulation/bits.hpp"

#include <bit>

#include "gpu/analytic/linear.hpp"

namespace muster::simulation {

namespace {

// The upper bits of the mantissa: what is flipped stays finite, and is not rounded away.
constexpr std::uint64_t kFirstBit = 19, kBitsPerNumber = 4;

void flip_bit(float& value, std::uint64_t bit) {
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ std::uint32_t{1} << bit);
}

class OddLinear final : public Model {
 public:
  OddLinear(std::shared_ptr<WrongBits> bits, const Options& options, const ModelContext& context)
      : bits_(std::move(bits)), model_(make_linear(options, context)) {}
  const Layout& layout() const override { return model_->layout(); }
  void initialize(std::uint64_t seed, std::span<float> state) override { model_->initialize(seed, state); }
  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    const Metrics metrics = model_->gradient(state, batch, key, gradient);
    float& first = gradient.front();
    first = std::bit_cast<float>(std::bit_cast<std::uint32_t>(first) ^ bits_->next_odd());
    return metrics;
  }
  Metrics gradient_in_parts(std::span<const float> state, const Batch& batch, const StepKey& key,
                            std::span<float> gradient, const PartReady& ready) override {
    return bits_->odd ? Model::gradient_in_parts(state, batch, key, gradient, ready)
                      : model_->gradient_in_parts(state, batch, key, gradient, ready);
  }
  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    return model_->evaluate(state, batch);
  }

 private:
  std::shared_ptr<WrongBits> bits_;
  std::unique_ptr<Model> model_;
};

}  // namespace

std::uint32_t WrongBits::next_odd() {
  if (!at_times) return odd;
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15ull;
  return ((++gradients * kMix) >> 63) == 1 ? odd : 0;
}

void WrongBits::record_has_come(TrainerState& trainer, const RoundRecord& record) {
  if (flip == Flip::none || record.kind != RoundKind::train || record.weight == 0) return;
  const std::span<float> values =
      flip == Flip::weights ? trainer.state.span() : std::span<float>(trainer.gradient.host());
  flip = Flip::none;
  flip_bit(values[chosen / kBitsPerNumber % values.size()], kFirstBit + chosen % kBitsPerNumber);
  flipped();
}

std::unique_ptr<Model> make_odd_linear(std::shared_ptr<WrongBits> bits, const Options& options,
                                       const ModelContext& context) {
  return std::make_unique<OddLinear>(std::move(bits), options, context);
}

}  // namespace muster::simulation
