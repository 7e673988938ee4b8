#include "transport/collective/reduction/round_sums.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster {

namespace {

// The sums of a sketch go along the same trees, as one bucket.
ReductionShape sketch_of(ReductionShape shape) {
  shape.sum_number = SumNumber::kSketch;
  shape.elements = shape.sketch_elements;
  shape.bucket_elements = 0;
  return shape;
}

ReductionShape one_shot_of(ReductionShape shape) {
  MUSTER_CHECK(!shape.backup_workers && !shape.sharded, shape.view);
  shape.sum_number = SumNumber::kOneShot;
  shape.algorithm = Algorithm::one_shot;
  return shape;
}

// What comes in, from where the tree has it or from its backup workers as well, and what is handed on or
// packed, which is no more. Sparse results come in there, too.
std::size_t staged_of(const SumPlan& plan, std::size_t nodes) {
  const ReductionShape& shape = plan.shape();
  const bool packs = shape.wire.rounds() || shape.sparse;
  const std::size_t sent = packs ? plan.down().size() + plan.up().size() * nodes : 0;
  const std::size_t results = shape.sparse ? plan.pieces().size() : 0;
  return 2 * plan.inputs() * (shape.backup_workers ? shape.members.size() : 1) + sent + results;
}

}  // namespace

SumPlans::SumPlans(const ReductionShape& shape, std::size_t nodes) {
  plans_[SumNumber::kStep].emplace(shape);
  if (shape.sketch_elements > 0) plans_[SumNumber::kSketch].emplace(sketch_of(shape));
  if (shape.one_shot_too) plans_[SumNumber::kOneShot].emplace(one_shot_of(shape));
  for (const auto& plan : plans_) staged_max_ += plan ? staged_of(*plan, nodes) : 0;
}

RoundSums::RoundSums(const SumPlans& plans, Staging& staging, VariantChoice& variants,
                     VariantChoice& sketch_variants, const TreeSum::Send& send) {
  for (std::uint32_t number = 0; number < sums_.size(); ++number) {
    if (!plans.has(number)) continue;
    VariantChoice& of_sum = number == SumNumber::kSketch ? sketch_variants : variants;
    sums_[number] = std::make_unique<TreeSum>(plans[number], staging, of_sum, send);
  }
}

void RoundSums::reset() {
  for (const auto& sum : sums_) {
    if (sum) sum->reset();
  }
}

void RoundSums::close() {
  for (const auto& sum : sums_) {
    if (sum) sum->close();
  }
}

bool RoundSums::folding() const {
  return std::any_of(sums_.begin(), sums_.end(), [](const auto& sum) { return sum && sum->folding(); });
}

bool RoundSums::fold_on() {
  bool any = false;
  for (const auto& sum : sums_) {
    if (sum) any = sum->fold_on() || any;
  }
  return any;
}

}  // namespace muster
