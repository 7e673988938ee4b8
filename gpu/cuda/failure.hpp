// What CUDA refuses becomes an Error.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "muster/error.hpp"

namespace muster::cuda {

/// Throws Error with the GPU, the call and CUDA's words, unless `code` is success. What CUDA
/// reports may come from work that was put before the call.
inline void must(cudaError_t code, const std::string& gpu, const char* call) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // or the next call would report it again
  throw Error(gpu + ": " + call + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")");
}

/// The same of a kernel: `code` is what its launch returned.
inline void launched(cudaError_t code, const std::string& gpu, const char* kernel) {
  if (code != cudaSuccess) must(code, gpu, (std::string("kernel ") + kernel).c_str());
}

}  // namespace muster::cuda
