// The model "empty": any number of parameters and no computing, so that what remains of a step is the
// runtime's own cost.
#pragma once

#include <memory>
#include <vector>

#include "muster/model.hpp"
#include "muster/options.hpp"

namespace muster {

/// `parameters`, the number of them.
std::vector<OptionSpec> empty_options();

/// Accepts any batch. The state starts at zero; element i of the gradient is a whole number in [-32, 31] that
/// depends on (step, shard, i), so sums over shards are exact. Loss and correct are 0.
std::unique_ptr<Model> make_empty(const Options& options, const ModelContext& context);

}  // namespace muster
