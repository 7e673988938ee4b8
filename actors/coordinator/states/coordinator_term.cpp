#include "actors/coordinator/states/coordinator_term.hpp"

namespace muster {

void CoordinatorTerm::rise_above(std::uint64_t heard) {
  if (heard < number_) return;
  number_ = heard + 1;
  journal_is_behind_ = true;
}

void CoordinatorTerm::noted() {
  noted_ = number_;
  journal_is_behind_ = false;
}

// A write of its own may have come to the disk though it failed.
bool CoordinatorTerm::is_beaten_by(std::uint64_t term, std::uint64_t writer) const {
  return term >= number_ && writer != writer_;
}

}  // namespace muster
