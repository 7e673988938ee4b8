// How a run begins.
#pragma once

#include <cstdint>

#include "tests/simulation/plan.hpp"

namespace muster::simulation {

/// As the product starts runs. Of those by hand some nodes come late, or never.
void draw_start(std::uint64_t seed, Plan& plan);

}  // namespace muster::simulation
