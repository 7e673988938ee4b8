// How a kernel goes over its elements: four at a time where the arrays allow it. Only for .cu files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace muster::cuda {

inline constexpr int kThreads = 256;     // of a block
inline constexpr std::size_t kPack = 4;  // elements that a thread moves at once: 16 bytes of floats
inline constexpr int kBlocksPerMultiprocessor = 16;

template <class T, int count>
struct alignas(sizeof(T) * count) Pack {
  T at[count];
};

template <int count, class T>
__device__ __forceinline__ Pack<T, count> load(const T* array, std::size_t i) {
  return *reinterpret_cast<const Pack<T, count>*>(array + i);
}

/// In one instruction. Of a struct nvcc would store each element alone, here and there.
template <int count, class T>
__device__ __forceinline__ void store(const Pack<T, count>& pack, T* array, std::size_t i) {
  T* const to = array + i;
  if constexpr (sizeof pack == sizeof(uint4)) {
    uint4 w;
    memcpy(&w, &pack, sizeof w);
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(w.x),
                 "r"(w.y), "r"(w.z), "r"(w.w)
                 : "memory");
  } else {
    *reinterpret_cast<Pack<T, count>*>(to) = pack;
  }
}

/// Elements [head, head + packs * kPack) are moved in packs, all others one by one.
struct Cut {
  std::size_t head = 0;
  std::size_t packs = 0;
};

/// Packs lie at multiples of their size, in all arrays at once; where the arrays differ in that there are
/// none.
template <class... T>
Cut cut(std::size_t count, const T*... arrays) {
  const std::size_t beyond[] = {reinterpret_cast<std::uintptr_t>(arrays) / sizeof(T) % kPack...};
  for (const std::size_t each : beyond)
    if (each != beyond[0]) return {};
  const std::size_t head = std::min(count, (kPack - beyond[0]) % kPack);
  return {head, (count - head) / kPack};
}

inline unsigned grid_for(std::size_t threads, int multiprocessors) {
  const std::size_t most = static_cast<std::size_t>(multiprocessors) * kBlocksPerMultiprocessor;
  return static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, most));
}

}  // namespace muster::cuda
