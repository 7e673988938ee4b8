// Adds up the sums of a view's members on a GPU, where transports carry its memory.
#pragma once

#include <memory>

#include "gpu/compute_device.hpp"
#include "transport/collective/sums/fold_unit.hpp"

namespace muster {

/// With the bits of fold() on the host. The work goes onto the stream of `device`, which should be this
/// unit's alone: it would wait for whatever else is put there. At its end the unit waits for it.
std::unique_ptr<FoldUnit> make_gpu_folds(std::shared_ptr<ComputeDevice> device);

}  // namespace muster
