// What is done to elements, on the host and on the first GPU if there is one: bytes per second, read and
// written, and what part that is of a plain copy within the same memory (`of_copy`), which is measured first.
// A GPU has vectors far larger than its caches.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/optimizer/optimizer.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

/// The vectors of one device, made when its first benchmark runs.
class Arrays {
 public:
  explicit Arrays(const std::string& name)
      : device(make_compute_device(name)), count(device->is_gpu() ? std::size_t{1} << 27 : 1 << 22) {
    for (DeviceFloats& array : v) array = DeviceFloats(device, count);
    norm = DeviceArray<double>(device, norm_space(count));
    first = DeviceArray<std::uint64_t>(device, 1);
    host = PinnedFloats(device, count);
    copied_bytes_per_second = rate_of_copies();
  }

  std::span<float> at(std::size_t i) const { return v[i].span(); }

  /// From memory of the device to memory of the device: the host's copy takes either, and so does CUDA's.
  void copy_within() const { device->copy_in<float>(at(0), at(1)); }

  /// Seconds of `times` times this, from an idle device to an idle device.
  double seconds(int times, const std::function<void()>& work) const {
    device->synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) work();
    device->synchronize();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  std::shared_ptr<ComputeDevice> device;
  std::size_t count;
  std::array<DeviceFloats, 4> v;
  DeviceArray<double> norm;
  DeviceArray<std::uint64_t> first;
  PinnedFloats host;
  double copied_bytes_per_second = 0;

 private:
  double rate_of_copies() const {
    const auto copy = [this] { copy_within(); };
    seconds(3, copy);
    double best = 0;
    for (int i = 0; i < 5; ++i)
      best = std::max(best, 10.0 * 2 * sizeof(float) * static_cast<double>(count) / seconds(10, copy));
    return best;
  }
};

struct Kernel {
  const char* name;
  double bytes;  // of an element, read and written; once where it goes from memory to memory
  std::function<void(const Arrays&)> put;
};

elements::AdamFactors adam_factors() {
  elements::AdamFactors f;
  f.beta1 = 0.9F;
  f.rest1 = 0.1F;
  f.beta2 = 0.999F;
  f.rest2 = 0.001F;
  f.epsilon = 1e-8F;
  f.step_size = 1e-3F;
  return f;
}

const std::vector<Kernel>& kernels() {
  static const elements::SgdFactors kSgd{0.01F, 1e-4F, 0.9F};
  static const elements::AdamFactors kAdam = adam_factors();
  static const std::vector<Kernel> all{
      {"copy", 8, [](const Arrays& a) { a.copy_within(); }},
      {"copy_in", 4, [](const Arrays& a) { a.device->copy_in<float>(a.host.span(), a.at(0)); }},
      {"copy_out", 4, [](const Arrays& a) { a.device->copy_out<float>(a.at(0), a.host.span()); }},
      {"add", 12, [](const Arrays& a) { a.device->vectors().add(a.at(0), a.at(1), {}, a.at(2)); }},
      {"scale", 8,
       [](const Arrays& a) {
         a.device->vectors().scale(a.at(0), {0.5F, false}, a.at(1));
       }},
      {"divide", 8,
       [](const Arrays& a) {
         a.device->vectors().scale(a.at(0), {3.0F, true}, a.at(1));
       }},
      {"sgd", 12, [](const Arrays& a) { a.device->vectors().sgd(kSgd, a.at(0), a.at(1)); }},
      {"sgd_momentum", 20,
       [](const Arrays& a) { a.device->vectors().sgd_momentum(kSgd, false, a.at(0), a.at(1), a.at(2)); }},
      {"sgd_nesterov", 20,
       [](const Arrays& a) { a.device->vectors().sgd_momentum(kSgd, true, a.at(0), a.at(1), a.at(2)); }},
      {"adam", 28,
       [](const Arrays& a) { a.device->vectors().adam(kAdam, a.at(0), a.at(1), a.at(2), a.at(3)); }},
      {"squared_norm", 4, [](const Arrays& a) { a.device->vectors().squared_norm(a.at(1), a.norm.span()); }},
      {"find_not_finite", 4,
       [](const Arrays& a) { a.device->vectors().find_not_finite(a.at(1), a.first.data()); }},
  };
  return all;
}

void run(benchmark::State& bench, const Arrays& arrays, const Kernel& kernel) {
  for (const DeviceFloats& array : arrays.v) arrays.device->zero(array.span());
  const int times = arrays.device->is_gpu() ? 20 : 1;
  arrays.seconds(1, [&] { kernel.put(arrays); });
  double seconds = 0;
  for (auto _ : bench) {
    const double taken = arrays.seconds(times, [&] { kernel.put(arrays); });
    bench.SetIterationTime(taken);
    seconds += taken;
  }
  const double bytes = kernel.bytes * static_cast<double>(arrays.count) * times;
  const double rate = bytes * static_cast<double>(bench.iterations()) / seconds;
  bench.counters["GB/s"] = rate / 1e9;
  bench.counters["of_copy"] = rate / arrays.copied_bytes_per_second;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const std::string device : {"cpu", "cuda:0"}) {
    const auto arrays = std::make_shared<std::unique_ptr<muster::Arrays>>();
    try {
      muster::make_compute_device(device);
    } catch (const muster::Error& error) {
      std::printf("left out: %s\n", error.what());
      continue;
    }
    for (const muster::Kernel& kernel : muster::kernels()) {
      benchmark::RegisterBenchmark((device + "/" + kernel.name).c_str(), [arrays, device,
                                                                          &kernel](benchmark::State& bench) {
        if (!*arrays) *arrays = std::make_unique<muster::Arrays>(device);
        muster::run(bench, **arrays, kernel);
      })->UseManualTime();
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::ClearRegisteredBenchmarks();  // and with them the arrays, while their devices are there
  benchmark::Shutdown();
}
