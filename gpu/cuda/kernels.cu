// What is done element by element. An operation says how it loads, computes and stores `count` elements from
// `i` on; one kernel goes over all elements with it.
#include "gpu/cuda/kernels.hpp"

#include <algorithm>
#include <cstring>

#include "gpu/cuda/launch.hpp"

namespace muster::cuda {
namespace {

using elements::AdamFactors;
using elements::Scale;
using elements::SgdFactors;

template <class Operation>
__global__ void __launch_bounds__(kThreads) for_all(const Operation operation, Cut cut, std::size_t count) {
  const auto factors = operation.factors();
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(kThreads) + threadIdx.x;
  const std::size_t threads = gridDim.x * static_cast<std::size_t>(kThreads);
  for (std::size_t p = thread; p < cut.packs; p += threads)
    operation.template apply<kPack>(cut.head + p * kPack, factors);
  const std::size_t others = count - cut.packs * kPack;
  for (std::size_t j = thread; j < others; j += threads)
    operation.template apply<1>(j < cut.head ? j : j + cut.packs * kPack, factors);
}

template <class Operation>
cudaError_t launch(On on, const Operation& operation, Cut cut, std::size_t count) {
  if (count == 0) return cudaSuccess;
  const std::size_t work = std::max(cut.packs, count - cut.packs * kPack);
  for_all<<<grid_for(work, on.multiprocessors), kThreads, 0, on.stream>>>(operation, cut, count);
  return cudaGetLastError();
}

/// An operation whose factors are part of it.
struct Plain {
  __device__ int factors() const { return 0; }
};

template <bool divides>
struct Add : Plain {
  const float *left, *right;
  float factor;
  float* out;

  template <int n>
  __device__ void apply(std::size_t i, int) const {
    const auto a = load<n>(left, i), b = load<n>(right, i);
    Pack<float, n> sum;
    for (int k = 0; k < n; ++k) sum.at[k] = elements::scaled(a.at[k] + b.at[k], factor, divides);
    store(sum, out, i);
  }
};

template <bool divides>
struct Scaling : Plain {
  const float* values;
  float factor;
  float* out;

  template <int n>
  __device__ void apply(std::size_t i, int) const {
    auto value = load<n>(values, i);
    for (int k = 0; k < n; ++k) value.at[k] = elements::scaled(value.at[k], factor, divides);
    store(value, out, i);
  }
};

struct ScalingBy {
  const float* values;
  const float* factor;
  float* out;

  __device__ float factors() const { return *factor; }
  template <int n>
  __device__ void apply(std::size_t i, float by) const {
    auto value = load<n>(values, i);
    for (int k = 0; k < n; ++k) value.at[k] = elements::scaled(value.at[k], by, false);
    store(value, out, i);
  }
};

struct Sgd {
  SgdFrom from;
  float* parameters;
  const float* gradient;

  __device__ SgdFactors factors() const { return from.get(); }
  template <int n>
  __device__ void apply(std::size_t i, const SgdFactors& f) const {
    auto parameter = load<n>(parameters, i);
    const auto grad = load<n>(gradient, i);
    for (int k = 0; k < n; ++k) parameter.at[k] = elements::sgd(parameter.at[k], grad.at[k], f);
    store(parameter, parameters, i);
  }
};

template <bool nesterov, bool keeps>
struct SgdMomentum {
  SgdFrom from;
  float* parameters;
  const float* gradient;
  const float* momentum;
  float* new_momentum;  // momentum, or null

  __device__ SgdFactors factors() const { return from.get(); }
  template <int n>
  __device__ void apply(std::size_t i, const SgdFactors& f) const {
    auto parameter = load<n>(parameters, i);
    auto velocity = load<n>(momentum, i);
    const auto grad = load<n>(gradient, i);
    for (int k = 0; k < n; ++k)
      elements::sgd_momentum<nesterov>(parameter.at[k], velocity.at[k], grad.at[k], f);
    if constexpr (keeps) store(velocity, new_momentum, i);
    store(parameter, parameters, i);
  }
};

template <bool keeps>
struct Adam {
  AdamFrom from;
  float* parameters;
  const float* gradient;
  const float *average, *square;
  float *new_average, *new_square;  // average and square, or null

  __device__ AdamFactors factors() const { return from.get(); }
  template <int n>
  __device__ void apply(std::size_t i, const AdamFactors& f) const {
    auto parameter = load<n>(parameters, i);
    auto mean = load<n>(average, i), variance = load<n>(square, i);
    const auto grad = load<n>(gradient, i);
    for (int k = 0; k < n; ++k) elements::adam(parameter.at[k], mean.at[k], variance.at[k], grad.at[k], f);
    if constexpr (keeps) {
      store(mean, new_average, i);
      store(variance, new_square, i);
    }
    store(parameter, parameters, i);
  }
};

template <bool nesterov, bool keeps>
cudaError_t launch_momentum(On on, SgdFrom factors, std::size_t count, float* parameters,
                            const float* gradient, const float* momentum, float* new_momentum) {
  const SgdMomentum<nesterov, keeps> operation{factors, parameters, gradient, momentum, new_momentum};
  return launch(on, operation, cut(count, parameters, gradient, momentum), count);
}

struct SmallValue {
  unsigned char bytes[kSetBytesMax];
};

__global__ void set_value(const SmallValue value, unsigned bytes, unsigned char* to) {
  if (threadIdx.x < bytes) to[threadIdx.x] = value.bytes[threadIdx.x];
}

}  // namespace

cudaError_t add(On on, const float* left, const float* right, std::size_t count, Scale by, float* out) {
  const Cut packs = cut(count, left, right, out);
  if (by.divides) return launch(on, Add<true>{{}, left, right, by.factor, out}, packs, count);
  return launch(on, Add<false>{{}, left, right, by.factor, out}, packs, count);
}

cudaError_t scale(On on, const float* values, std::size_t count, Scale by, float* out) {
  const Cut packs = cut(count, values, out);
  if (by.divides) return launch(on, Scaling<true>{{}, values, by.factor, out}, packs, count);
  return launch(on, Scaling<false>{{}, values, by.factor, out}, packs, count);
}

cudaError_t scale_by(On on, const float* values, std::size_t count, const float* factor, float* out) {
  return launch(on, ScalingBy{values, factor, out}, cut(count, values, out), count);
}

cudaError_t sgd(On on, SgdFrom factors, std::size_t count, float* parameters, const float* gradient) {
  return launch(on, Sgd{factors, parameters, gradient}, cut(count, parameters, gradient), count);
}

cudaError_t sgd_momentum(On on, SgdFrom factors, bool nesterov, std::size_t count, float* parameters,
                         const float* gradient, float* momentum) {
  if (nesterov)
    return launch_momentum<true, true>(on, factors, count, parameters, gradient, momentum, momentum);
  return launch_momentum<false, true>(on, factors, count, parameters, gradient, momentum, momentum);
}

cudaError_t foretell_sgd_momentum(On on, SgdFrom factors, bool nesterov, std::size_t count, float* parameters,
                                  const float* gradient, const float* momentum) {
  if (nesterov)
    return launch_momentum<true, false>(on, factors, count, parameters, gradient, momentum, nullptr);
  return launch_momentum<false, false>(on, factors, count, parameters, gradient, momentum, nullptr);
}

cudaError_t adam(On on, AdamFrom factors, std::size_t count, float* parameters, const float* gradient,
                 float* average, float* square) {
  const Adam<true> operation{factors, parameters, gradient, average, square, average, square};
  return launch(on, operation, cut(count, parameters, gradient, average, square), count);
}

cudaError_t foretell_adam(On on, AdamFrom factors, std::size_t count, float* parameters,
                          const float* gradient, const float* average, const float* square) {
  const Adam<false> operation{factors, parameters, gradient, average, square, nullptr, nullptr};
  return launch(on, operation, cut(count, parameters, gradient, average, square), count);
}

// By value: the kernel's arguments are copied at the launch, so nobody has to keep them until it runs.
cudaError_t set(On on, const void* value, std::size_t bytes, void* to) {
  SmallValue small{};
  std::memcpy(small.bytes, value, std::min(bytes, kSetBytesMax));
  set_value<<<1, kSetBytesMax, 0, on.stream>>>(small, static_cast<unsigned>(bytes),
                                               static_cast<unsigned char*>(to));
  return cudaGetLastError();
}

}  // namespace muster::cuda
