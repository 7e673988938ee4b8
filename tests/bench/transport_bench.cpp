// Two UCX transports in one process, moved by one thread: what the layer itself costs. UCX_TLS chooses the
// transport. And what it costs to send sums sparse.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "transport/collective/sums/sparse.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace {

using namespace muster;

constexpr PeerId kPeer = 1;

class CountingSink final : public FrameSink {
 public:
  explicit CountingSink(std::size_t bytes) : place_(bytes) {}
  std::span<std::byte> place(const Frame& frame) override { return std::span(place_).first(frame.bytes); }
  void arrived(const Frame&, std::span<std::byte>) override { ++frames_arrived; }
  void dropped(const Frame&) override {}
  void sent(PeerId, SendToken, bool) override { ++frames_sent; }
  void peer_failed(PeerId, const std::string&) override {}
  void refused(const std::string&) override {}

  std::size_t frames_arrived = 0;
  std::size_t frames_sent = 0;

 private:
  std::vector<std::byte> place_;
};

struct Side {
  explicit Side(std::size_t bytes) : sink(bytes), payload(bytes), transport(make_ucx_transport({})) {
    transport->set_sink(&sink);
    frame.bytes = bytes;
  }
  void send() { transport->send(kPeer, frame, payload, 0); }

  CountingSink sink;
  std::vector<std::byte> payload;
  std::unique_ptr<Transport> transport;
  Frame frame;
};

struct Pair {
  explicit Pair(std::size_t bytes) : a(bytes), b(bytes) {
    a.transport->connect(kPeer, b.transport->address());
    b.transport->connect(kPeer, a.transport->address());
  }
  void progress() {
    a.transport->progress();
    b.transport->progress();
  }
  Side a;
  Side b;
};

void BM_UcxPingPong(benchmark::State& state) {
  Pair pair(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    const std::size_t at_a = pair.a.sink.frames_arrived;
    const std::size_t at_b = pair.b.sink.frames_arrived;
    pair.a.send();
    while (pair.b.sink.frames_arrived == at_b) pair.progress();
    pair.b.send();
    while (pair.a.sink.frames_arrived == at_a) pair.progress();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * 2 * state.range(0));
  state.SetLabel(pair.a.transport->describe());
}
BENCHMARK(BM_UcxPingPong)->Arg(0)->Arg(64)->Arg(4 << 10)->Arg(512 << 10)->UseRealTime();

/// Eight sends in flight.
void BM_UcxStream(benchmark::State& state) {
  Pair pair(static_cast<std::size_t>(state.range(0)));
  std::size_t started = 0;
  for (auto _ : state) {
    pair.a.send();
    ++started;
    while (started - pair.a.sink.frames_sent >= 8) pair.progress();
  }
  while (pair.b.sink.frames_arrived < started) pair.progress();
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
  state.SetLabel(pair.a.transport->describe());
}
BENCHMARK(BM_UcxStream)->Arg(64 << 10)->Arg(512 << 10)->Arg(1 << 20)->UseRealTime();

// ---- a chunk of sums; the argument: how many of 1000 elements are not +0

constexpr std::size_t kChunk = 128 * 1024;

std::vector<float> sums(std::int64_t in_1000) {
  std::mt19937 random(1);
  std::vector<float> values(kChunk, 0.0F);
  for (float& value : values) {
    if (random() % 1000 < static_cast<std::uint32_t>(in_1000)) value = 1.5F;
  }
  return values;
}

void count_dense_bytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kChunk * sizeof(float)));
}

void BM_PackSparse(benchmark::State& state) {
  const auto values = sums(state.range(0));
  std::vector<std::byte> bytes(kChunk * sizeof(float));
  for (auto _ : state)
    benchmark::DoNotOptimize(pack_sparse(values.data(), kChunk, {}, bytes.data(), bytes.size()));
  count_dense_bytes(state);
}
BENCHMARK(BM_PackSparse)->Arg(0)->Arg(1)->Arg(10)->Arg(100)->Arg(500)->Arg(1000);

void BM_UnpackSparse(benchmark::State& state) {
  auto values = sums(state.range(0));
  std::vector<std::byte> bytes(kChunk * sizeof(float));
  bytes.resize(pack_sparse(values.data(), kChunk, {}, bytes.data(), bytes.size()).value());
  for (auto _ : state) benchmark::DoNotOptimize(unpack_sparse(bytes, kChunk, {}, values.data()));
  count_dense_bytes(state);
}
BENCHMARK(BM_UnpackSparse)->Arg(0)->Arg(1)->Arg(10)->Arg(100)->Arg(500);

}  // namespace

BENCHMARK_MAIN();
