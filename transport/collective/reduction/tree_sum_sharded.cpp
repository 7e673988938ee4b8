// What a sum does where the optimiser is sharded: the buddy keeps the mean gradient, then the owner makes the
// result.
#include "base/canary.hpp"
#include "transport/collective/reduction/tree_sum.hpp"

namespace muster {

// The piece that this member is to keep as its sender's buddy, and does not keep yet.
std::optional<std::size_t> TreeSum::backup_of(const Frame& frame) const {
  const ReductionShape& shape = plan_.shape();
  if (!shape.sharded || !opened_ || result_.empty() || shape.members[frame.from].buddy != shape.self)
    return std::nullopt;
  const auto pieces = pieces_of(frame);
  if (!pieces || pieces->end != pieces->first + 1 || backed_up_[pieces->first]) return std::nullopt;
  if (plan_.pieces()[pieces->first].owner != frame.from) return std::nullopt;
  return pieces->first;
}

// The mean gradient of an own piece is there. Nobody gets what follows from it before the buddy has it.
void TreeSum::back_up(std::size_t number) {
  const ReductionShape& shape = plan_.shape();
  const SumPlan::Piece& piece = plan_.pieces()[number];
  shape.update->kept(piece.elements());
  const std::uint32_t buddy = shape.members[shape.self].buddy;
  if (buddy == shape.self || canary("no-backup")) return update(number);
  backed_up_[number] = true;
  ++unkept_;
  send_(buddy, frame_with(ReducedBody{piece.begin}),
        std::as_bytes(std::span(shape.update->gradient(piece.elements()), piece.count)), Staging::kNone);
}

// As a buddy.
void TreeSum::keep(const Frame& frame, std::size_t number) {
  if (closed_ || backed_up_[number]) return;
  const SumPlan::Piece& piece = plan_.pieces()[number];
  backed_up_[number] = true;
  plan_.shape().update->kept(piece.elements());
  send_(frame.from, frame_with(KeptElementsBody{piece.begin, piece.count}), {}, Staging::kNone);
}

bool TreeSum::kept(const Frame& frame) {
  const ReductionShape& shape = plan_.shape();
  const auto body = KeptElementsBody::from(frame);
  const auto pieces =
      body.invalid().empty() ? plan_.pieces_at(body.first_element, body.elements) : std::nullopt;
  const bool may = shape.sharded && frame.from == shape.members[shape.self].buddy && pieces &&
                   pieces->end == pieces->first + 1 && plan_.pieces()[pieces->first].owner == shape.self &&
                   backed_up_[pieces->first];
  if (!may || closed_ || done_[pieces->first]) return may;  // an answer that comes twice counts once
  --unkept_;
  update(pieces->first);
  return true;
}

void TreeSum::update(std::size_t number) {
  const SumPlan::Piece& piece = plan_.pieces()[number];
  plan_.shape().update->result(piece.elements(), result_.data() + piece.begin);
  result_in(number);
}

}  // namespace muster
