// Who holds the parts of optimizers and states, for the tests of both.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "actors/messages/view.hpp"

namespace muster {

inline std::set<std::uint32_t> slots_of(const std::vector<PartHolder>& holders) {
  std::set<std::uint32_t> slots;
  for (const PartHolder& holder : holders) slots.insert(holder.owner);
  return slots;
}

}  // namespace muster
