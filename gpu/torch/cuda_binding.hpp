// A torch module's place on a GPU. No CUDA in this header; the functions exist only in builds whose libtorch
// has CUDA.
#pragma once

#include <memory>

#include "gpu/torch/torch_binding.hpp"

namespace muster {

/// GPUs that libtorch can use; 0 without a driver.
int torch_gpus();

/// `stream` is a cudaStream_t of this GPU that outlives the binding; null is the GPU's default stream.
///
/// Memory: batches go through pinned memory, in two turns for the inputs and two for the labels, each as
/// large as the largest batch so far (libtorch rounds it up to a power of two), so that the host fills one
/// turn while the GPU still reads the other. Nothing else waits for the GPU but metrics().
std::unique_ptr<TorchBinding> make_cuda_binding(int gpu, void* stream);

}  // namespace muster
