#include "transport/collective/tree_sum/sum_inputs.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster {

void SumInputs::reset() {
  for (Staged& staged : staged_) release(staged);
  staged_.assign(plan_.inputs(), {});
  taken_.assign(plan_.inputs(), false);
  arrived_.assign(plan_.pieces().size(), 0);
  elements_from_.assign(plan_.shape().members.size(), 0);
  own_.clear();
}

void SumInputs::give_back_borrowed() {
  for (Staged& staged : staged_) {
    if (staged.hold != Staging::kNone && staging_.is_borrowed(staged.hold)) release(staged);
  }
}

void SumInputs::take_own(std::size_t number) {
  const SumPlan::Role& role = plan_.role(plan_.pieces()[number]);
  if (!role.owns && !role.adds()) return;
  for (std::size_t input = 0; input < role.inputs.size(); ++input) {
    if (role.inputs[input].from != plan_.shape().self) continue;
    const bool has = std::any_of(own_.begin(), own_.end(), [&](const NodeValue& value) {
      return value.node == role.inputs[input].node;
    });
    if (has) take(number, input);
  }
}

std::optional<std::size_t> SumInputs::input_of(const SumPlan::Piece& piece, NodeId node,
                                               std::uint32_t from) const {
  const SumPlan::Role& role = plan_.role(piece);
  if (!role.owns && !role.adds()) return std::nullopt;
  for (std::size_t i = 0; i < role.inputs.size(); ++i) {
    if (role.inputs[i].node != node) continue;
    const bool may = role.inputs[i].from == from || plan_.shape().backup_workers;
    return may ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

bool SumInputs::all_await(SumPlan::Pieces pieces, NodeId node, std::uint32_t from) const {
  for (std::size_t i = pieces.first; i < pieces.end; ++i) {
    const auto input = input_of(plan_.pieces()[i], node, from);
    if (!input || taken_[at(i, *input)]) return false;
  }
  return true;
}

bool SumInputs::take(std::size_t number, std::size_t input) {
  const SumPlan::Piece& piece = plan_.pieces()[number];
  if (taken_[piece.first_input + input]) return false;
  taken_[piece.first_input + input] = true;
  ++arrived_[number];
  elements_from_[plan_.role(piece).inputs[input].from] += piece.count;
  return true;
}

// What came from others, also in this member's stead, is staged.
const float* SumInputs::values(const SumPlan::Piece& piece, std::size_t input) const {
  const SumPlan::Input& wanted = plan_.role(piece).inputs[input];
  const Staged& staged = staged_[piece.first_input + input];
  if (staged.values != nullptr) return staged.values;
  MUSTER_CHECK(wanted.from == plan_.shape().self, wanted.node);
  for (const NodeValue& value : own_) {
    if (value.node == wanted.node) return value.values + piece.begin;
  }
  MUSTER_CHECK(false, wanted.node, "said to be present, but not contributed");
  return nullptr;
}

}  // namespace muster
