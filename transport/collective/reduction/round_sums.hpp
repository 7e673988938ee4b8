// The sums that a round of a view may have: of a step, along the trees of the view's algorithm or, where that
// is open and all have found it quicker, in one shot; and of its sketch, where it has one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "transport/collective/choice/variant_choice.hpp"
#include "transport/collective/rounds/round.hpp"
#include "transport/collective/sums/reduction_shape.hpp"
#include "transport/collective/sums/staging.hpp"
#include "transport/collective/sums/sum_plan.hpp"
#include "transport/collective/tree_sum/tree_sum.hpp"
#include "transport/frames/round_bodies.hpp"

namespace muster {

/// By which frames name a sum of a round: one may come before the header that tells what round it is.
struct SumNumber {
  static constexpr std::uint32_t kStep = 0, kSketch = 1, kOneShot = 2;
  static constexpr std::size_t kCount = 3;
};

/// How each of them is cut and moved; the same in all rounds of a view.
class SumPlans {
 public:
  /// `nodes`: that the members add, together.
  SumPlans(const ReductionShape& shape, std::size_t nodes);

  /// Whether the view has such a sum.
  bool has(std::uint32_t number) const { return plans_[number].has_value(); }
  const SumPlan& operator[](std::uint32_t number) const { return *plans_[number]; }
  /// Buffers of one round: nobody who follows the protocol has more in use.
  std::size_t staged_max() const { return staged_max_; }

 private:
  std::array<std::optional<SumPlan>, SumNumber::kCount> plans_;
  std::size_t staged_max_ = 0;
};

/// Those of one round.
class RoundSums {
 public:
  /// All outlive this object. `variants`: of the step's sum, whichever way it goes.
  RoundSums(const SumPlans& plans, Staging& staging, VariantChoice& variants, VariantChoice& sketch_variants,
            const TreeSum::Send& send);

  /// The step's, if the view has no such sum.
  TreeSum& at(std::uint32_t number) const {
    const bool has = number < sums_.size() && sums_[number];
    return *sums_[has ? number : SumNumber::kStep];
  }
  /// The one that a frame is of.
  TreeSum& of(const Frame& frame) const { return at(elements_in(frame).sum); }
  /// The one that a round of this kind takes: of its sketch, if the view has such a sum; else of the step,
  /// the way that this variant goes.
  TreeSum& of(RoundKind kind, SumVariant variant) const {
    if (kind == RoundKind::sketch && sums_[SumNumber::kSketch]) return *sums_[SumNumber::kSketch];
    return at(variant == SumVariant::one_shot ? SumNumber::kOneShot : SumNumber::kStep);
  }
  void reset();
  void close();
  bool folding() const;
  bool fold_on();

 private:
  std::array<std::unique_ptr<TreeSum>, SumNumber::kCount> sums_;  // null: there is none
};

}  // namespace muster
