#include "transport/collective/tree_sum/gradient_backup.hpp"

#include "base/canary.hpp"

namespace muster {

void GradientBackup::reset() {
  passed_on_.assign(plan_.shape().sharded ? plan_.pieces().size() : 0, false);
  unkept_ = 0;
}

bool GradientBackup::give(std::size_t piece) {
  if (buddy() == plan_.shape().self || canary("no-backup")) return false;
  passed_on_[piece] = true;
  ++unkept_;
  return true;
}

std::optional<std::size_t> GradientBackup::answered(const Frame& frame) const {
  const auto body = KeptElementsBody::from(frame);
  const auto pieces =
      body.invalid().empty() ? plan_.pieces_at(body.first_element, body.elements) : std::nullopt;
  const bool given = plan_.shape().sharded && frame.from == buddy() && pieces &&
                     pieces->end == pieces->first + 1 &&
                     plan_.pieces()[pieces->first].owner == plan_.shape().self && passed_on_[pieces->first];
  return given ? std::optional(pieces->first) : std::nullopt;
}

bool GradientBackup::awaits(SumPlan::Pieces pieces, std::uint32_t from) const {
  const ReductionShape& shape = plan_.shape();
  if (!shape.sharded || shape.members[from].buddy != shape.self) return false;
  if (pieces.end != pieces.first + 1 || passed_on_[pieces.first]) return false;
  return plan_.pieces()[pieces.first].owner == from;
}

bool GradientBackup::keep(std::size_t piece) {
  if (passed_on_[piece]) return false;
  passed_on_[piece] = true;
  return true;
}

}  // namespace muster
