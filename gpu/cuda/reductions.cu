// What looks across elements. A warp sums up a block of elements in the order of norm.hpp; which warp, and
// how many there are, changes nothing.
#include "gpu/cuda/kernels.hpp"
#include "gpu/cuda/launch.hpp"
#include "gpu/norm.hpp"

namespace muster::cuda {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kAll = 0xffffffffU;
// Each thread of the warp has four lanes of the block beside each other.
static_assert(norm::kLanes == kWarp * kPack && norm::kBlock % norm::kLanes == 0);

__device__ double term(float value) {
  return elements::squared(value);
}
__device__ double term(double sum) {
  return sum;
}

template <class Value>
__device__ double sum_of_block(const Value* values, std::size_t count, bool in_packs) {
  const unsigned thread = threadIdx.x % kWarp;
  double lanes[kPack] = {0, 0, 0, 0};
  if (in_packs && count == norm::kBlock) {
#pragma unroll 8
    for (std::size_t row = 0; row < norm::kBlock; row += norm::kLanes) {
      const auto pack = load<kPack>(values, row + thread * kPack);
      for (std::size_t k = 0; k < kPack; ++k) lanes[k] += term(pack.at[k]);
    }
  } else {
    for (std::size_t row = 0; row < count; row += norm::kLanes) {
      for (std::size_t k = 0; k < kPack; ++k) {
        const std::size_t i = row + thread * kPack + k;
        if (i < count) lanes[k] += term(values[i]);
      }
    }
  }
  // Lane l and lane l + 64 lie 16 threads apart, and so on down to lane l + 4; the last two halves are within
  // the first thread.
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2)
    for (std::size_t k = 0; k < kPack; ++k) lanes[k] += __shfl_down_sync(kAll, lanes[k], apart);
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

template <class Value>
__global__ void __launch_bounds__(kThreads)
    sum_blocks(const Value* values, std::size_t count, bool in_packs, double* sums) {
  const std::size_t first = (blockIdx.x * static_cast<std::size_t>(kThreads) + threadIdx.x) / kWarp;
  const std::size_t warps = gridDim.x * static_cast<std::size_t>(kThreads) / kWarp;
  for (std::size_t block = first; block * norm::kBlock < count; block += warps) {
    const std::size_t begin = block * norm::kBlock;
    const std::size_t size = count - begin < norm::kBlock ? count - begin : norm::kBlock;
    const double sum = sum_of_block(values + begin, size, in_packs);
    if (threadIdx.x % kWarp == 0) sums[block] = sum;
  }
}

template <class Value>
cudaError_t launch_sums(On on, const Value* values, std::size_t count, double* sums) {
  const bool in_packs = reinterpret_cast<std::uintptr_t>(values) % (sizeof(Value) * kPack) == 0;
  const unsigned grid = grid_for(norm::blocks(count) * kWarp, on.multiprocessors);
  sum_blocks<<<grid, kThreads, 0, on.stream>>>(values, count, in_packs, sums);
  return cudaGetLastError();
}

__global__ void write_clip_factor(const double* squared_norm, float norm_max, float* factor) {
  *factor = elements::clip_factor(*squared_norm, norm_max);
}

// The least of indices is the same in any order, so threads may race for it.
__global__ void __launch_bounds__(kThreads)
    find_first(const float* values, Cut cut, std::size_t count, unsigned long long* first) {
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(kThreads) + threadIdx.x;
  const std::size_t threads = gridDim.x * static_cast<std::size_t>(kThreads);
  unsigned long long found = ~0ULL;
  for (std::size_t p = thread; p < cut.packs; p += threads) {
    const std::size_t i = cut.head + p * kPack;
    const auto pack = load<kPack>(values, i);
    for (std::size_t k = 0; k < kPack; ++k)
      if (!elements::is_finite(pack.at[k]) && i + k < found) found = i + k;
  }
  const std::size_t others = count - cut.packs * kPack;
  for (std::size_t j = thread; j < others; j += threads) {
    const std::size_t i = j < cut.head ? j : j + cut.packs * kPack;
    if (!elements::is_finite(values[i]) && i < found) found = i;
  }
  for (unsigned apart = kWarp / 2; apart > 0; apart /= 2) {
    const unsigned long long other = __shfl_down_sync(kAll, found, apart);
    if (other < found) found = other;
  }
  if (threadIdx.x % kWarp == 0 && found != ~0ULL) atomicMin(first, found);
}

}  // namespace

cudaError_t squared_norm(On on, const float* values, std::size_t count, double* space) {
  if (count == 0) return cudaMemsetAsync(space, 0, sizeof(double), on.stream);
  std::size_t left = norm::blocks(count);
  double* sums = left == 1 ? space : space + 1;  // what is left as one goes to the front
  cudaError_t code = launch_sums(on, values, count, sums);
  while (code == cudaSuccess && left > 1) {
    const std::size_t next = norm::blocks(left);
    double* const to = next == 1 ? space : sums + left;
    code = launch_sums(on, sums, left, to);
    sums = to;
    left = next;
  }
  return code;
}

cudaError_t clip_factor(On on, const double* squared_norm, float norm_max, float* factor) {
  write_clip_factor<<<1, 1, 0, on.stream>>>(squared_norm, norm_max, factor);
  return cudaGetLastError();
}

cudaError_t find_not_finite(On on, const float* values, std::size_t count, std::uint64_t* first) {
  if (count == 0) return cudaSuccess;
  static_assert(sizeof(std::uint64_t) == sizeof(unsigned long long));
  const Cut packs = cut(count, values);
  const std::size_t work = packs.packs + (count - packs.packs * kPack);
  find_first<<<grid_for(work, on.multiprocessors), kThreads, 0, on.stream>>>(
      values, packs, count, reinterpret_cast<unsigned long long*>(first));
  return cudaGetLastError();
}

}  // namespace muster::cuda
