#include "actors/coordinator/states/coordinator_term.hpp"

namespace muster {

void CoordinatorTerm::rise_above(std::uint64_t heard) {
  if (heard < number_) return;
  number_ = heard + 1;
  journal_is_behind_ = true;
}

}  // namespace muster
