// The sums of a replica that computes on a GPU: added up where the gradients are; and copied to the host
// bucket by bucket while the backward pass goes on, unless transports read the GPU's memory.
#pragma once

#include <memory>

#include "gpu/compute_device.hpp"
#include "transport/collective/sums/sum_memory.hpp"

namespace muster {

/// Of vectors with so many elements. At most as many are held twice, on the GPU and in pinned memory of the
/// host, as an accumulator's cover has nodes. That memory is borrowable (borrowable.hpp), where the GPU can
/// copy to such.
std::unique_ptr<SumMemory> make_gpu_sums(std::shared_ptr<ComputeDevice> device, std::size_t elements);

/// The same; others read the sums where they are, on the GPU.
std::unique_ptr<SumMemory> make_gpu_sums_in_place(std::shared_ptr<ComputeDevice> device,
                                                  std::size_t elements);

}  // namespace muster
