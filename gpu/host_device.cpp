// The host's processor as a compute device: the twins of gpu/cuda/kernels.cu. Plain loops in float32, written
// so that the compiler can vectorise them. Every element is computed alone and without contraction, so the
// bits depend neither on the vector width nor on where the vector is cut.
#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <new>

#include "base/check.hpp"
#include "base/mutex.hpp"
#include "gpu/compute_device.hpp"
#include "gpu/device.hpp"
#include "gpu/norm.hpp"

// A loop whose output may be one of its inputs: element i depends on nothing but the elements i.
#if defined(__GNUC__) && !defined(__clang__)
#define MUSTER_EACH_ALONE _Pragma("GCC ivdep")
#else
#define MUSTER_EACH_ALONE
#endif

namespace muster {
namespace {

using elements::AdamFactors;
using elements::From;
using elements::Scale;
using elements::SgdFactors;

/// Memory from the heap, counted.
class HostMemory {
 public:
  HostMemory() { use_.bound_bytes = std::numeric_limits<std::size_t>::max(); }

  void* take(std::size_t bytes) {
    bytes = std::max<std::size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
    void* memory = ::operator new (bytes, std::align_val_t{kAlignment});
    const MutexLock lock(mutex_);
    sizes_.emplace(memory, bytes);
    use_.held_bytes = use_.taken_bytes += bytes;
    use_.peak_bytes = std::max(use_.peak_bytes, use_.taken_bytes);
    return memory;
  }

  void give(void* memory) {
    {
      const MutexLock lock(mutex_);
      const auto found = sizes_.find(memory);
      MUSTER_CHECK(found != sizes_.end(), "memory", memory);
      use_.held_bytes = use_.taken_bytes -= found->second;
      sizes_.erase(found);
    }
    ::operator delete (memory, std::align_val_t{kAlignment});
  }

  MemoryUse use() const {
    const MutexLock lock(mutex_);
    return use_;
  }

 private:
  static constexpr std::size_t kAlignment = MemoryPool::kAlignment;
  mutable Mutex mutex_;
  std::map<void*, std::size_t> sizes_ MUSTER_GUARDED_BY(mutex_);
  MemoryUse use_ MUSTER_GUARDED_BY(mutex_);
};

// out[i] = sum(i), scaled.
template <bool divides, class Sum>
void scaled_loop(std::size_t count, float factor, float* out, const Sum& sum) {
  MUSTER_EACH_ALONE
  for (std::size_t i = 0; i < count; ++i) out[i] = elements::scaled(sum(i), factor, divides);
}

// No choice is left within the loop.
template <class Sum>
void scaled_loop(Scale by, std::span<float> out, const Sum& sum) {
  if (by.divides) return scaled_loop<true>(out.size(), by.factor, out.data(), sum);
  scaled_loop<false>(out.size(), by.factor, out.data(), sum);
}

// Value: float, or const float for one that keeps nothing.
template <bool nesterov, class Value>
void sgd_loop(const SgdFactors& factors, std::span<float> values, std::span<const float> grads,
              Value* __restrict momentum) {
  float* __restrict parameters = values.data();
  const float* __restrict gradient = grads.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    float parameter = parameters[i], velocity = momentum[i];
    elements::sgd_momentum<nesterov>(parameter, velocity, gradient[i], factors);
    if constexpr (!std::is_const_v<Value>) momentum[i] = velocity;
    parameters[i] = parameter;
  }
}

template <class Value>
void adam_loop(const AdamFactors& given, std::span<float> values, std::span<const float> grads,
               Value* __restrict average, Value* __restrict square) {
  const AdamFactors factors = given;
  float* __restrict parameters = values.data();
  const float* __restrict gradient = grads.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_const_v<Value>) {
      float mean = average[i], variance = square[i];
      elements::adam(parameters[i], mean, variance, gradient[i], factors);
    } else {
      elements::adam(parameters[i], average[i], square[i], gradient[i], factors);
    }
  }
}

template <class Value, class Term>
double sum_of_block(const Value* values, std::size_t count, const Term& term) {
  double lanes[norm::kLanes] = {};
  std::size_t i = 0;
  for (; i + norm::kLanes <= count; i += norm::kLanes)
    for (std::size_t l = 0; l < norm::kLanes; ++l) lanes[l] += term(values[i + l]);
  for (std::size_t l = 0; i + l < count; ++l) lanes[l] += term(values[i + l]);
  for (std::size_t half = norm::kLanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

// `sums` may be `values`: a block is read before its sum is written, and no sum lies behind its block.
template <class Value, class Term>
void sum_blocks(const Value* values, std::size_t count, double* sums, const Term& term) {
  for (std::size_t b = 0; b < norm::blocks(count); ++b) {
    const std::size_t begin = b * norm::kBlock;
    sums[b] = sum_of_block(values + begin, std::min(norm::kBlock, count - begin), term);
  }
}

class HostDevice final : public ComputeDevice {
 public:
  const std::string& name() const override { return name_; }
  std::string hardware() const override { return processor_name(); }
  bool is_gpu() const override { return false; }
  void* stream() const override { return nullptr; }

  void* take(std::size_t bytes) override { return memory_.take(bytes); }
  void give(void* memory) noexcept override { memory_.give(memory); }
  void* take_pinned(std::size_t bytes) override { return pinned_.take(bytes); }
  void give_pinned(void* memory) noexcept override { pinned_.give(memory); }
  std::string pin(void*, std::size_t) override { return {}; }  // it copies by itself anyway
  void unpin(void*) noexcept override {}
  MemoryUse memory() const override { return memory_.use(); }
  MemoryUse pinned() const override { return pinned_.use(); }

  // Work is done when its call returns: every mark has been passed.
  Mark mark() override { return {}; }
  bool reached(const Mark&) override { return true; }
  void wait(const Mark&) override {}
  void synchronize() override {}

  void add(std::span<const float> left, std::span<const float> right, Scale by,
           std::span<float> out) override {
    same(left.size(), out.size());
    same(right.size(), out.size());
    const float *a = left.data(), *b = right.data();
    scaled_loop(by, out, [=](std::size_t i) { return a[i] + b[i]; });
  }

  void scale(std::span<const float> values, Scale by, std::span<float> out) override {
    same(values.size(), out.size());
    const float* from = values.data();
    scaled_loop(by, out, [=](std::size_t i) { return from[i]; });
  }

  void scale_by(std::span<const float> values, const float* factor, std::span<float> out) override {
    scale(values, {*factor, false}, out);
  }

  void sgd(From<SgdFactors> from, std::span<float> values, std::span<const float> grads) override {
    same(values.size(), grads.size());
    const SgdFactors factors = from.get();
    float* __restrict parameters = values.data();
    const float* __restrict gradient = grads.data();
    for (std::size_t i = 0; i < values.size(); ++i)
      parameters[i] = elements::sgd(parameters[i], gradient[i], factors);
  }

  void sgd_momentum(From<SgdFactors> factors, bool nesterov, std::span<float> parameters,
                    std::span<const float> gradient, std::span<float> momentum) override {
    momentum_of(factors.get(), nesterov, parameters, gradient, momentum);
  }

  void foretell_sgd_momentum(From<SgdFactors> factors, bool nesterov, std::span<float> parameters,
                             std::span<const float> gradient, std::span<const float> momentum) override {
    momentum_of(factors.get(), nesterov, parameters, gradient, momentum);
  }

  void adam(From<AdamFactors> factors, std::span<float> parameters, std::span<const float> gradient,
            std::span<float> average, std::span<float> square) override {
    adam_of(factors.get(), parameters, gradient, average, square);
  }

  void foretell_adam(From<AdamFactors> factors, std::span<float> parameters, std::span<const float> gradient,
                     std::span<const float> average, std::span<const float> square) override {
    adam_of(factors.get(), parameters, gradient, average, square);
  }

  void squared_norm(std::span<const float> values, std::span<double> space) override {
    same(space.size(), norm_space(values.size()));
    double* const sums = space.data();
    sums[0] = 0;
    sum_blocks(values.data(), values.size(), sums, [](float value) { return elements::squared(value); });
    for (std::size_t left = norm::blocks(values.size()); left > 1; left = norm::blocks(left))
      sum_blocks(sums, left, sums, [](double sum) { return sum; });
  }

  void clip_factor(const double* squared_norm, float norm_max, float* factor) override {
    *factor = elements::clip_factor(*squared_norm, norm_max);
  }

  void find_not_finite(std::span<const float> values, std::uint64_t* first) override {
    constexpr std::size_t kAtOnce = 1024;
    *first = kNone;
    for (std::size_t begin = 0; begin < values.size(); begin += kAtOnce) {
      const auto part = values.subspan(begin, std::min(kAtOnce, values.size() - begin));
      unsigned found = 0;
      for (const float value : part) found |= elements::is_finite(value) ? 0U : 1U;
      if (found == 0) continue;
      const auto where =
          std::find_if(part.begin(), part.end(), [](float v) { return !elements::is_finite(v); });
      *first = begin + static_cast<std::uint64_t>(where - part.begin());
      return;
    }
  }

  std::unique_ptr<RecordedWork> record(const std::function<void()>& work) override {
    struct Again final : RecordedWork {
      explicit Again(std::function<void()> what) : work(std::move(what)) {}
      void replay() override { work(); }
      std::function<void()> work;
    };
    return std::make_unique<Again>(work);
  }

 private:
  void put_copy(const void* from, void* to, std::size_t bytes, Direction) override {
    if (bytes != 0) std::memmove(to, from, bytes);
  }
  Mark put_aside(const Mark&, const void* from, void* host, std::size_t bytes) override {
    put_copy(from, host, bytes, Direction::out);
    return {};
  }
  void put_rows(const void* from, std::size_t stride, void* host, std::size_t width,
                std::size_t rows) override {
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(static_cast<std::byte*>(host) + i * width, static_cast<const std::byte*>(from) + i * stride,
                  width);
  }
  void put_zeros(void* to, std::size_t bytes) override {
    if (bytes != 0) std::memset(to, 0, bytes);
  }
  void put_value(const void* value, std::size_t bytes, void* to) override { std::memcpy(to, value, bytes); }
  void forget(void*) noexcept override {}

  template <class Value>
  void momentum_of(const SgdFactors& factors, bool nesterov, std::span<float> parameters,
                   std::span<const float> gradient, std::span<Value> momentum) {
    same(parameters.size(), gradient.size());
    same(parameters.size(), momentum.size());
    if (nesterov) return sgd_loop<true>(factors, parameters, gradient, momentum.data());
    sgd_loop<false>(factors, parameters, gradient, momentum.data());
  }

  template <class Value>
  void adam_of(const AdamFactors& factors, std::span<float> parameters, std::span<const float> gradient,
               std::span<Value> average, std::span<Value> square) {
    same(parameters.size(), gradient.size());
    same(parameters.size(), average.size());
    same(parameters.size(), square.size());
    adam_loop(factors, parameters, gradient, average.data(), square.data());
  }

  const std::string name_ = "cpu";
  HostMemory memory_, pinned_;
};

}  // namespace

std::shared_ptr<ComputeDevice> make_host_device() {
  return std::make_shared<HostDevice>();
}

}  // namespace muster
