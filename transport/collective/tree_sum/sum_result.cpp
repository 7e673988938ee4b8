#include "transport/collective/tree_sum/sum_result.hpp"

namespace muster {

void SumResult::reset() {
  elements_ = {};
  begun_ = false;
  in_place_.assign(plan_.pieces().size(), false);
  pieces_in_place_ = 0;
  ready_.assign(plan_.down().size(), 0);
  elements_from_.assign(plan_.shape().members.size(), 0);
}

bool SumResult::awaits(SumPlan::Pieces pieces, std::uint32_t from) const {
  if (!is_open()) return false;
  for (std::size_t i = pieces.first; i < pieces.end; ++i) {
    const SumPlan::Role& role = plan_.role(plan_.pieces()[i]);
    if (role.owns || role.parent != from || in_place_[i]) return false;
  }
  return true;
}

}  // namespace muster
