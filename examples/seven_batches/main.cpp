// Seven ready-made batches on two shards, with a short seventh.
//
//   muster_seven_batches run examples/seven_batches/seven_batches.toml
//
// Elsewhere: seven batches do not divide by two workers. The worker that is given three of them fails with
// *pop from empty list* or *End of sequence* in the fourth step, while the other one waits in its all-reduce
// until a timeout; or the framework drops the seventh batch, or trains on another one twice. Averaging the
// workers' means would also give the four samples of the seventh batch the weight of eight.
//
// Here: batch i is the micro-batch of shard i mod 2 at step i div 2, never split or merged. The fourth step
// has only the seventh batch; shard 1 is absent from it, which an `exhausted` event says, adds nothing to the
// sum and nothing to the divisor: the step is divided by the four samples that are there. Four steps, seven
// batches used once each, exit code 0.
#include <memory>
#include <vector>

#include "muster/command_line.hpp"
#include "muster/random.hpp"
#include "muster/source.hpp"

namespace {

constexpr std::size_t kInputs = 4;

// Samples of a fixed linear function: what the model "linear" can learn.
muster::Batch make_batch(std::uint32_t rows, muster::SplitMix64& random) {
  muster::Tensor x{
      muster::DType::float32, {rows, kInputs}, std::vector<std::byte>(rows * kInputs * sizeof(float))};
  muster::Tensor y{muster::DType::float32, {rows, 1}, std::vector<std::byte>(rows * sizeof(float))};
  for (std::size_t row = 0; row < rows; ++row) {
    float sum = 1;
    for (std::size_t i = 0; i < kInputs; ++i) {
      const float value = random.next_signed_unit();
      x.as<float>()[row * kInputs + i] = value;
      sum += static_cast<float>(i) * value;
    }
    y.as<float>()[row] = sum;
  }
  return {rows, 0, {std::move(x), std::move(y)}};
}

muster::Dataset seven_batches(const muster::Options&) {
  muster::SplitMix64 random(1);
  std::vector<muster::Batch> batches;
  for (int number = 1; number <= 6; ++number) batches.push_back(make_batch(8, random));
  batches.push_back(make_batch(4, random));
  return {std::make_unique<muster::VectorBatchSource>(std::move(batches)), nullptr};
}

}  // namespace

int main(int argc, char** argv) {
  muster::Registry registry = muster::builtin_registry();
  registry.add_source("seven_batches", {}, seven_batches);
  return muster::main(argc, argv, registry);
}
