// The second copies of the mean gradient, where the optimizer is sharded (part_update.hpp): an owner gives
// each piece of its range to its buddy, and a buddy keeps those of the owner that it backs up.
//
// Thread rule: that of the sum, which it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/collective/sums/sum_plan.hpp"
#include "transport/frames/round_bodies.hpp"

namespace muster {

class GradientBackup {
 public:
  /// The plan outlives this object. Where its optimizer is not sharded, nothing is given or awaited.
  explicit GradientBackup(const SumPlan& plan) : plan_(plan) { reset(); }
  /// For the next round. Memory stays.
  void reset();

  // ---- as an owner
  std::uint32_t buddy() const { return plan_.shape().members[plan_.shape().self].buddy; }
  /// The piece is on its way to the buddy. Returns false if this member has none: then nobody is waited for.
  bool give(std::size_t piece);
  /// The own piece that a frame of kind `kept` answers; nothing if the sender was not given it.
  std::optional<std::size_t> answered(const Frame& frame) const;
  /// The first answer of a piece is here.
  void holds_one_more() { --unkept_; }
  /// Whether this member is the buddy, and still has to answer.
  bool awaits_answer_of(std::uint32_t member) const { return unkept_ > 0 && member == buddy(); }

  // ---- as a buddy
  /// Whether these are one piece of an owner that this member backs up, and does not keep yet.
  bool awaits(SumPlan::Pieces pieces, std::uint32_t from) const;
  /// The piece is here. Returns whether it was not before.
  bool keep(std::size_t piece);

 private:
  const SumPlan& plan_;
  std::vector<bool> passed_on_;  // by piece: given to the buddy, or kept as one
  std::size_t unkept_ = 0;       // pieces that the buddy has not said to hold
};

}  // namespace muster
