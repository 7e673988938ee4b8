// The operations on vectors in a GPU's memory, as kernels on one stream.
#pragma once

#include <memory>
#include <string>

#include "gpu/cuda/kernels.hpp"
#include "gpu/vector_operations.hpp"

namespace muster::cuda {

/// Of the GPU with this number and this name ("cuda:K"). The stream must outlive them.
std::unique_ptr<VectorOperations> make_cuda_vectors(int number, const std::string& name, On on);

}  // namespace muster::cuda
