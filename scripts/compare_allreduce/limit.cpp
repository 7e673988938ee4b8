// scripts/compare-allreduce: what this machine's memory allows. Two processes at once do what an all-reduce
// of BYTES between them cannot do without: each adds one half of both vectors, and copies the other half of
// the result; nobody waits for anybody. limit BYTES ITERATIONS; prints the times of the slower one, in
// microseconds, as a JSON list.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

template <class T>
T* shared(std::size_t count) {
  void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  return static_cast<T*>(memory);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::size_t elements = std::strtoull(argv[1], nullptr, 10) / sizeof(float), half = elements / 2;
  const int iterations = std::atoi(argv[2]);
  constexpr int kWarmUp = 3;
  auto* arrived = shared<std::atomic<int>>(1);
  auto* times = shared<double>(2 * static_cast<std::size_t>(kWarmUp + iterations));
  float* const values[] = {shared<float>(elements), shared<float>(elements)};
  float* const results[] = {shared<float>(elements), shared<float>(elements)};
  const int self = fork() == 0 ? 1 : 0;
  const std::size_t mine = self == 0 ? 0 : half, theirs = half - mine;
  int barriers = 0;
  const auto barrier = [&] {
    arrived->fetch_add(1);
    for (++barriers; arrived->load() < 2 * barriers;) {
    }
  };
  for (int iteration = 0; iteration < kWarmUp + iterations; ++iteration) {
    for (std::size_t i = 0; i < elements; ++i) values[self][i] = static_cast<float>((i + iteration) % 8);
    barrier();
    const auto begun = std::chrono::steady_clock::now();
    const float* __restrict left = values[0] + mine;
    const float* __restrict right = values[1] + mine;
    float* __restrict sum = results[self] + mine;
    for (std::size_t i = 0; i < half; ++i) sum[i] = (left[i] + right[i]) * 0.5f;
    std::memcpy(results[self] + theirs, results[1 - self] + theirs, half * sizeof(float));
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    times[2 * iteration + self] = took.count();
    barrier();
  }
  if (self == 1) _exit(0);
  ::wait(nullptr);
  for (int i = kWarmUp; i < kWarmUp + iterations; ++i)
    std::printf("%s%.3f", i == kWarmUp ? "[" : ", ",
                times[2 * i] > times[2 * i + 1] ? times[2 * i] : times[2 * i + 1]);
  std::printf("]\n");
}
