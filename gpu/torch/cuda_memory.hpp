// What libtorch takes of a GPU's memory. No CUDA in this header; the function exists only in builds whose
// libtorch has CUDA.
#pragma once

#include <cstdint>
#include <functional>

namespace muster {

/// Runs `work`, and returns how many bytes of the GPU libtorch's caching allocator took from the driver at
/// most meanwhile, beyond what is in use before. Its cache is empty before and after. The allocator must have
/// served this GPU before: a model is on it. Throws what `work` throws, and libtorch's exceptions.
std::uint64_t torch_gpu_peak(int gpu, const std::function<void()>& work);

}  // namespace muster
