// Cost of one micro-batch and of one update, on one thread.
#include <benchmark/benchmark.h>

#include "gpu/analytic/empty.hpp"
#include "gpu/optimizer/compression.hpp"
#include "gpu/optimizer/optimizer.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "muster/random.hpp"
#ifdef MUSTER_WITH_TORCH
#include "gpu/models/torch_back_end.hpp"
#endif

namespace muster {
namespace {

constexpr std::size_t kCnnParameters = 421642;

std::vector<float> numbers(std::uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<float> values(kCnnParameters);
  for (auto& value : values) value = random.next_signed_unit();
  return values;
}

void run_updates(benchmark::State& bench, Optimizer& optimizer) {
  auto parameters = numbers(1);
  const auto gradient = numbers(2);
  std::uint64_t step = 0;
  for (auto _ : bench) optimizer.update(++step, parameters, gradient);
  bench.SetItemsProcessed(bench.iterations() * static_cast<std::int64_t>(kCnnParameters));
}

void sgd(benchmark::State& bench) {
  SgdOptions options;
  options.momentum = static_cast<double>(bench.range(0)) / 10;
  run_updates(bench, *make_sgd(options, make_schedule({}), kCnnParameters));
}
BENCHMARK(sgd)->Arg(0)->Arg(9)->ArgName("momentum_tenths");

void adam(benchmark::State& bench) {
  run_updates(bench, *make_adam({}, make_schedule({}), kCnnParameters));
}
BENCHMARK(adam);

// Bell-shaped, and each time the same: what was kept and what was left out add up to the same sums again.
void top_k(benchmark::State& bench) {
  constexpr std::size_t kElements = 1 << 20;
  SplitMix64 random(4);
  std::vector<float> gradient(kElements), left_out(kElements), next(kElements);
  for (auto& value : gradient)
    for (int i = 0; i < 6; ++i) value += random.next_signed_unit();
  TopK compressor(kElements, static_cast<double>(bench.range(0)) / 1000);
  for (auto _ : bench) {
    compressor.compress(gradient, left_out, next);
    left_out.swap(next);
  }
  bench.SetItemsProcessed(bench.iterations() * static_cast<std::int64_t>(kElements));
  bench.SetBytesProcessed(bench.iterations() * static_cast<std::int64_t>(4 * sizeof(float) * kElements));
}
BENCHMARK(top_k)->Arg(1)->Arg(10)->Arg(100)->Arg(500)->ArgName("of_a_thousand");

void hash_of_the_state(benchmark::State& bench) {
  const auto state = numbers(1);
  for (auto _ : bench) benchmark::DoNotOptimize(state_sha256(state));
}
BENCHMARK(hash_of_the_state);

void empty_gradient(benchmark::State& bench) {
  const auto model = make_empty({{"parameters", static_cast<std::int64_t>(kCnnParameters)}}, {});
  std::vector<float> gradient(kCnnParameters);
  for (auto _ : bench) model->gradient(gradient, {}, {}, gradient);
}
BENCHMARK(empty_gradient);

#ifdef MUSTER_WITH_TORCH
Batch images(std::int64_t rows) {
  Batch batch;
  batch.rows = static_cast<std::uint32_t>(rows);
  const auto count = static_cast<std::size_t>(rows);
  batch.tensors.push_back(
      {DType::float32, {rows, 1, 28, 28}, std::vector<std::byte>(count * 784 * sizeof(float))});
  batch.tensors.push_back({DType::int64, {rows}, std::vector<std::byte>(count * sizeof(std::int64_t))});
  SplitMix64 random(3);
  for (auto& pixel : batch.tensors[0].as<float>()) pixel = random.next_signed_unit();
  for (auto& label : batch.tensors[1].as<std::int64_t>())
    label = static_cast<std::int64_t>(random.next() % 10);
  return batch;
}

/// items_per_second is samples per second.
void run_gradients(benchmark::State& bench, Model& model) {
  std::vector<float> state(model.layout().total()), gradient(state.size());
  model.initialize(7, state);
  const Batch batch = images(bench.range(0));
  for (auto _ : bench) model.gradient(state, batch, {}, gradient);
  bench.SetItemsProcessed(bench.iterations() * bench.range(0));
}

void fashion_cnn_gradient(benchmark::State& bench) {
  run_gradients(bench, *torch_back_end().fashion_cnn({}, {}));
}
BENCHMARK(fashion_cnn_gradient)->Arg(8)->Arg(16)->Arg(64)->Arg(128)->ArgName("rows");

void mlp_gradient(benchmark::State& bench) {
  run_gradients(bench, *torch_back_end().mlp({{"sizes", std::vector<std::int64_t>{784, 128, 10}}}, {}));
}
BENCHMARK(mlp_gradient)->Arg(16)->ArgName("rows");
#endif

}  // namespace
}  // namespace muster

BENCHMARK_MAIN();
