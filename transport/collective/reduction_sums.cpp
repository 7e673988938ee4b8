// The sums of a reduction's rounds: those of a step, and those of its sketch, where it has one.
#include "muster/transport/collective/reduction.hpp"

namespace muster {

std::unique_ptr<TreeSum> Reduction::make_sum(const SumPlan& plan, StoreChoice& stores, Slot& slot) {
  return std::make_unique<TreeSum>(
      plan, staging_, stores,
      [this, &slot](std::uint32_t member, const Frame& frame, std::span<const std::byte> payload,
                    Staging::Hold hold) { send(member, frame, payload, slot, hold); });
}

bool Reduction::sketching() const {
  const auto& mine = slot(round_).headers[shape_.self];
  return sketch_plan_ && mine && mine->kind == RoundKind::sketch;
}

TreeSum& Reduction::open_sum() const {
  return sketching() ? *slot(round_).sketch : *slot(round_).sum;
}

// Frames may come before the header that says what kind of round it is.
TreeSum& Reduction::sum_of(const Frame& frame) {
  Slot& target = slot(frame.round);
  return target.sketch && frame.extra == 1 ? *target.sketch : *target.sum;
}

// Of two rounds: what comes in, from where the tree has it or from those who stand in for it as well, and
// what is handed on or packed, which is no more. Sparse results come in there, too.
std::size_t Reduction::staged_max() const {
  const auto of = [this](const SumPlan& plan) {
    const bool packs = shape_.wire.rounds() || shape_.sparse;
    const std::size_t sent = packs ? plan.down().size() + plan.up().size() * nodes_.size() : 0;
    const std::size_t results = shape_.sparse ? plan.pieces().size() : 0;
    return 2 * plan.inputs() * (shape_.stand_ins ? shape_.members.size() : 1) + sent + results;
  };
  return slots_.size() * (of(plan_) + (sketch_plan_ ? of(*sketch_plan_) : 0));
}

}  // namespace muster
