// The deliberate bugs of the canary program: muster-sim, with one of them switched on by --canary.
#pragma once

#include <string>
#include <vector>

namespace muster::simulation {

struct Canary {
  std::string name;
  std::string bug;
  std::string faults = {};  ///< that show it, with commas between them; empty: runs near the plans do
};

/// Empty in muster-sim itself, which has none.
const std::vector<Canary>& canaries();
void switch_on(const std::string& canary);

}  // namespace muster::simulation
