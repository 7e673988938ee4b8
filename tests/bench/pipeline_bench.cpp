// What the data order and a micro-batch cost.
#include <benchmark/benchmark.h>

#include "actors/pipeline/permutation.hpp"
#include "actors/pipeline/serialize.hpp"
#include "actors/pipeline/stream.hpp"

namespace muster {
namespace {

/// Images as the idx source yields them: 28 x 28 pixels through a table, and a label.
class Images : public IndexedSource {
 public:
  Images() : pixels_(kSamples * kPixels, 17) {}
  std::string fingerprint() const override { return "bench"; }
  std::uint64_t size() const override { return kSamples; }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::uint64_t index, Row row) override {
    auto* out = reinterpret_cast<float*>(row[0].data());
    const std::uint8_t* in = pixels_.data() + index * kPixels;
    for (std::size_t i = 0; i < kPixels; ++i) out[i] = table_[in[i]];
  }

 private:
  static constexpr std::size_t kSamples = 60'000;
  static constexpr std::size_t kPixels = 784;
  std::vector<std::uint8_t> pixels_;
  std::vector<float> table_ = std::vector<float>(256, 0.5f);
  std::vector<Field> fields_{{DType::float32, {1, 28, 28}}, {DType::int64, {}}};
};

void permutation_at(benchmark::State& state) {
  const Permutation permutation(static_cast<std::uint64_t>(state.range(0)), 7, 1);
  std::uint64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(permutation.at(position));
    position = position + 1 == permutation.size() ? 0 : position + 1;
  }
}
BENCHMARK(permutation_at)->Arg(60'000)->Arg(1 << 16)->Arg((1 << 16) + 1)->Arg(std::int64_t{1} << 40);

struct Setup {
  explicit Setup(benchmark::State& state) {
    job.train.shards = 8;
    job.train.batch = static_cast<std::uint32_t>(state.range(0));
    data.train = std::make_unique<Images>();
    reader = std::make_unique<BatchReader>(job, data);
  }
  Job job;
  Dataset data;
  std::unique_ptr<BatchReader> reader;
};

void read_batch(benchmark::State& state) {
  Setup setup(state);
  const std::uint64_t steps = *setup.reader->steps_per_epoch() - 1;
  std::uint64_t step = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        setup.reader->read(static_cast<std::uint32_t>(step % 8), {Mode::train, 1, step}));
    step = (step + 1) % steps;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read_batch)->Arg(16)->Arg(128);

void encode_and_decode(benchmark::State& state) {
  Setup setup(state);
  const Item item = setup.reader->read(0, {});
  for (auto _ : state) benchmark::DoNotOptimize(decode_item(encode_item(item)));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(item.batch->bytes()));
}
BENCHMARK(encode_and_decode)->Arg(16)->Arg(128);

}  // namespace
}  // namespace muster

BENCHMARK_MAIN();
