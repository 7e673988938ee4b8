// In some plans only a few kinds of faults may happen, several times each: rare combinations meet more often
// than where every kind may happen in every plan (Groce et al., "Swarm Testing", ISSTA 2012).
#pragma once

#include <cstdint>

#include "tests/simulation/plan.hpp"

namespace muster::simulation {

/// As given, or, in one of four seeds, with 2 to 6 of its kinds. A short list is left as it is.
PlanOptions swarm(std::uint64_t seed, const PlanOptions& all);

}  // namespace muster::simulation
