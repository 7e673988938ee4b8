// The kernels, as functions that put them on a stream. Each does what the loop of the same name in
// vector_operations.cpp does, with the same bits, and returns what cudaGetLastError says after the launch.
// Any alignment of elements; a count of 0 launches nothing. Pointers are device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu/elements.hpp"

namespace muster::cuda {

struct On {
  cudaStream_t stream = nullptr;
  int multiprocessors = 1;  ///< for the size of the grid; no bit depends on it
};

cudaError_t add(On on, const float* left, const float* right, std::size_t count, elements::Scale by,
                float* out);
cudaError_t scale(On on, const float* values, std::size_t count, elements::Scale by, float* out);
cudaError_t scale_by(On on, const float* values, std::size_t count, const float* factor, float* out);

using SgdFrom = elements::From<elements::SgdFactors>;
using AdamFrom = elements::From<elements::AdamFactors>;
cudaError_t sgd(On on, SgdFrom factors, std::size_t count, float* parameters, const float* gradient);
cudaError_t sgd_momentum(On on, SgdFrom factors, bool nesterov, std::size_t count, float* parameters,
                         const float* gradient, float* momentum);
cudaError_t foretell_sgd_momentum(On on, SgdFrom factors, bool nesterov, std::size_t count, float* parameters,
                                  const float* gradient, const float* momentum);
cudaError_t adam(On on, AdamFrom factors, std::size_t count, float* parameters, const float* gradient,
                 float* average, float* square);
cudaError_t foretell_adam(On on, AdamFrom factors, std::size_t count, float* parameters,
                          const float* gradient, const float* average, const float* square);

/// `space` has norm_space(count) elements.
cudaError_t squared_norm(On on, const float* values, std::size_t count, double* space);
cudaError_t clip_factor(On on, const double* squared_norm, float norm_max, float* factor);
/// `first` holds ~0 before.
cudaError_t find_not_finite(On on, const float* values, std::size_t count, std::uint64_t* first);

inline constexpr std::size_t kSetBytesMax = 64;
cudaError_t set(On on, const void* value, std::size_t bytes, void* to);

}  // namespace muster::cuda
