// Faults that do harm only together, at moments that chance seldom brings; from dice of their own.
#pragma once

#include "tests/simulation/plan.hpp"

namespace muster::simulation {

/// One plan in twelve gets such faults in place of its own, if its job allows them.
void draw_together(std::uint64_t seed, const PlanOptions& options, Plan& plan);

}  // namespace muster::simulation
