// Faults that cannot show in the job that was drawn.
#pragma once

#include "tests/simulation/plan.hpp"

namespace muster::simulation {

/// Once all else is drawn: what would stop a thread that does nothing in this job stops another one, or is
/// taken out.
void replace_idle_faults(Plan& plan);

}  // namespace muster::simulation
