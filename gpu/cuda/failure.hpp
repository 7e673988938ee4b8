// What CUDA refuses becomes an Error.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "muster/config/error.hpp"

namespace muster::cuda {

/// Throws Error (give_up) with the card, the call and CUDA's words, unless `code` is success. What CUDA
/// reports may come from work that was put before the call.
inline void must(cudaError_t code, const std::string& card, const char* call) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // or the next call would report it again
  throw Error(Advice::give_up,
              card + ": " + call + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")");
}

/// The calling thread's card, until the end of the block; then it is the one of before again. libtorch on the
/// same thread may compute on another.
class OnCard {
 public:
  OnCard(int number, const std::string& card) {
    must(cudaGetDevice(&before_), card, "cudaGetDevice");
    if (before_ == number) return;
    must(cudaSetDevice(number), card, "cudaSetDevice");
    changed_ = true;
  }
  OnCard(const OnCard&) = delete;
  OnCard& operator=(const OnCard&) = delete;
  ~OnCard() {
    if (changed_) static_cast<void>(cudaSetDevice(before_));
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace muster::cuda
