#include "transport/collective/reduction/round_sums.hpp"

#include <gtest/gtest.h>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"
#include "transport/simulated/network.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;

// Four members, so that the trees of one shot are not those of the view.
ReductionShape view_with_all_sums() {
  ReductionShape shape = small_view(4, 1, 0);
  shape.algorithm = Algorithm::halving_doubling;
  shape.sketch_elements = 16;
  shape.one_shot_too = true;
  return shape;
}

TEST(SumPlans, HaveTheSumOfAStepAlways) {
  const SumPlans plans(small_view(4, 1, 0), 4);
  EXPECT_TRUE(plans.has(SumNumber::kStep));
  EXPECT_FALSE(plans.has(SumNumber::kSketch));
  EXPECT_FALSE(plans.has(SumNumber::kOneShot));
}

TEST(SumPlans, NameEachSumByItsNumber) {
  const SumPlans plans(view_with_all_sums(), 4);
  for (std::uint32_t number = 0; number < SumNumber::kCount; ++number) {
    ASSERT_TRUE(plans.has(number));
    EXPECT_EQ(plans[number].shape().sum_number, number);
  }
  EXPECT_EQ(plans[SumNumber::kSketch].shape().elements, 16u);
  EXPECT_EQ(plans[SumNumber::kSketch].shape().bucket_elements, 0u);
  EXPECT_EQ(plans[SumNumber::kOneShot].shape().algorithm, Algorithm::one_shot);
  EXPECT_EQ(plans[SumNumber::kStep].shape().algorithm, Algorithm::halving_doubling);
}

TEST(SumPlans, BoundTheBuffersOfARoundByWhatEachSumMayStage) {
  const ReductionShape shape = small_view(4, 1, 0);
  const SumPlans dense(shape, 4);
  EXPECT_EQ(dense.staged_max(), 2 * dense[SumNumber::kStep].inputs());
  ReductionShape sparse = shape, backed_up = shape;
  sparse.sparse = true;
  EXPECT_GT(SumPlans(sparse, 4).staged_max(), dense.staged_max());
  EXPECT_GT(SumPlans(sparse, 8).staged_max(), SumPlans(sparse, 4).staged_max());
  backed_up.backup_workers = true;
  EXPECT_EQ(SumPlans(backed_up, 4).staged_max(), 4 * dense.staged_max());
  const SumPlans all(view_with_all_sums(), 4);
  std::size_t inputs = 0;
  for (std::uint32_t number = 0; number < SumNumber::kCount; ++number) inputs += all[number].inputs();
  EXPECT_EQ(all.staged_max(), 2 * inputs);
}

TEST(RoundSums, AreFoundByNumberAndElseAreThatOfTheStep) {
  SimulatedNetwork network{[](std::chrono::nanoseconds, std::function<void()>) {}, 1, {}};
  const auto transport = network.attach("nobody");
  VariantChoice variants, sketch_variants;
  const auto sums_of = [&](const SumPlans& plans, Staging& staging) {
    return RoundSums(plans, staging, variants, sketch_variants, nullptr);
  };
  Staging staging(64, *transport);
  const SumPlans step_alone(small_view(4, 1, 0), 4), all(view_with_all_sums(), 4);
  const RoundSums one = sums_of(step_alone, staging), three = sums_of(all, staging);
  TreeSum& step = one.at(SumNumber::kStep);
  EXPECT_EQ(&one.at(SumNumber::kSketch), &step);
  EXPECT_EQ(&one.at(SumNumber::kOneShot), &step);
  EXPECT_EQ(&one.at(77), &step) << "what a forged frame may name";
  EXPECT_NE(&three.at(SumNumber::kSketch), &three.at(SumNumber::kStep));
  EXPECT_NE(&three.at(SumNumber::kOneShot), &three.at(SumNumber::kStep));
  EXPECT_NE(&three.at(SumNumber::kOneShot), &three.at(SumNumber::kSketch));
  EXPECT_FALSE(one.folding() || three.folding());
}

TEST(RoundSums, ARoundTakesTheOneOfItsKindAndVariant) {
  SimulatedNetwork network{[](std::chrono::nanoseconds, std::function<void()>) {}, 1, {}};
  const auto transport = network.attach("nobody");
  VariantChoice variants, sketch_variants;
  Staging staging(64, *transport);
  const SumPlans step_alone(small_view(4, 1, 0), 4), all(view_with_all_sums(), 4);
  const RoundSums one(step_alone, staging, variants, sketch_variants, nullptr);
  const RoundSums three(all, staging, variants, sketch_variants, nullptr);
  EXPECT_EQ(&three.of(RoundKind::train, SumVariant::cached), &three.at(SumNumber::kStep));
  EXPECT_EQ(&three.of(RoundKind::train, SumVariant::streamed), &three.at(SumNumber::kStep));
  EXPECT_EQ(&three.of(RoundKind::train, SumVariant::one_shot), &three.at(SumNumber::kOneShot));
  EXPECT_EQ(&three.of(RoundKind::sketch, SumVariant::one_shot), &three.at(SumNumber::kSketch));
  EXPECT_EQ(&one.of(RoundKind::sketch, SumVariant::cached), &one.at(SumNumber::kStep));
  EXPECT_EQ(three.of(RoundKind::sketch, SumVariant::cached).elements(), 16u);
  EXPECT_EQ(three.of(RoundKind::train, SumVariant::cached).elements(), 64u);
  Frame frame = frame_with(ContributionBody{2, {SumNumber::kOneShot, 0, 0}});
  EXPECT_EQ(&three.of(frame), &three.at(SumNumber::kOneShot));
}

}  // namespace
