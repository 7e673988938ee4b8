// Plans near known ones: where one bug was there may be another. The job and the kinds of faults stay; when
// they happen is drawn anew, and so is all that chance decides in the run.
#pragma once

#include <string>
#include <vector>

#include "tests/simulation/plan.hpp"

namespace muster::simulation {

class PlansNear {
 public:
  /// All *.plan in this folder. Throws std::runtime_error, also where there is none.
  explicit PlansNear(const std::string& folder);

  /// The same seed gives the same plan as long as the folder holds the same.
  Plan draw(std::uint64_t seed) const;

 private:
  std::vector<Plan> known_;
};

}  // namespace muster::simulation
