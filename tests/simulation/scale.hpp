// What a run costs as a function of the number of replicas: messages and bytes of a step, and of a view
// change.
#pragma once

#include <cstdint>
#include <vector>

namespace muster::simulation {

/// One short run of each size, in which a tenth of the replicas dies; prints a table. False if a run did not
/// end as it should, or if steps need the coordinator, or if view changes need more than a linear number of
/// its messages.
bool show_scale(const std::vector<std::uint32_t>& replicas);

}  // namespace muster::simulation
