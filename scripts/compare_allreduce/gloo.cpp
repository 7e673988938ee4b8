// scripts/compare-allreduce: Gloo's side (its ring, over TCP on the loopback). gloo RANK RANKS FOLDER BYTES
// ITERATIONS; each rank prints its times, in microseconds, as a JSON list.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const int rank = std::atoi(argv[1]), ranks = std::atoi(argv[2]);
  const auto elements = std::strtoull(argv[4], nullptr, 10) / sizeof(float);
  const int iterations = std::atoi(argv[5]);
  constexpr int kWarmUp = 3;
  gloo::transport::tcp::attr where("127.0.0.1");
  auto device = gloo::transport::tcp::CreateDevice(where);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  gloo::rendezvous::FileStore store(argv[3]);
  context->connectFullMesh(store, device);
  std::vector<float> values(elements), sum(elements);
  bool correct = true;
  std::printf("[");
  for (int iteration = 0; iteration < kWarmUp + iterations; ++iteration) {
    for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<float>((i + iteration) % 8 + rank);
    gloo::BarrierOptions barrier(context);
    gloo::barrier(barrier);
    gloo::barrier(barrier);  // all leave the second one at the same time
    gloo::AllreduceOptions options(context);
    options.setInput(values.data(), elements);
    options.setOutput(sum.data(), elements);
    options.setReduceFunction(
        [](void* c, const void* a, const void* b, std::size_t n) { gloo::sum<float>(c, a, b, n); });
    const auto begun = std::chrono::steady_clock::now();
    gloo::allreduce(options);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    gloo::barrier(barrier);  // nobody checks while others still reduce
    if (iteration >= kWarmUp) std::printf("%s%.3f", iteration == kWarmUp ? "" : ", ", took.count());
    for (std::size_t i = 0; i < elements; ++i) {
      const auto expected = static_cast<float>(ranks * ((i + iteration) % 8) + ranks * (ranks - 1) / 2);
      correct = correct && sum[i] == expected;
    }
  }
  std::printf("]\n");
  return correct ? 0 : 1;
}
