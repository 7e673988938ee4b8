// The deliberate bugs of the canary program: muster-sim, with one of them switched on by --canary.
#pragma once

#include <string>
#include <vector>

namespace muster::simulation {

struct Canary {
  std::string name;
  std::string invariants;  ///< numbers of those that find it, with commas between them; others do not count
  std::string bug;
  std::string faults = {};  ///< that show it, with commas between them; empty: runs near the plans do
};

/// Empty in muster-sim itself, which has none.
const std::vector<Canary>& canaries();
/// Whether the switched-on canary is one that this invariant finds.
bool is_found_by(const Canary& canary, int invariant);
void switch_on(const std::string& canary);

}  // namespace muster::simulation
