// The rare branches of the protocol that the simulator must see. Names are those that the tally counts; each
// fault of the table, and each of these, must be seen by every long run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/tally.hpp"

namespace muster::simulation {

struct Branch {
  std::string name;
  bool common = false;  ///< a few hundred seeds must see it
};

inline constexpr std::uint64_t kCommonBranchesFrom = 1200;
inline constexpr std::uint64_t kAllBranchesFrom = 50'000;

const std::vector<Branch>& branch_table();

/// What so many runs must have seen and have not.
std::vector<std::string> unseen_branches(const Tally& tally, std::uint64_t runs);

}  // namespace muster::simulation
