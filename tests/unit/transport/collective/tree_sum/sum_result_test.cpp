#include "transport/collective/tree_sum/sum_result.hpp"

#include <gtest/gtest.h>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;

// Three members, each with one shard and two pieces of the result: 0 and 1 are member 0's, which looks.
ReductionShape three_members() {
  ReductionShape shape = small_view(3, 1, 0);
  shape.elements = 96;
  shape.chunk_elements = 16;
  return shape;
}

class SumResultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(plan_.pieces().size(), 6u);
    for (std::uint32_t i = 0; i < 6; ++i) ASSERT_EQ(plan_.pieces()[i].owner, i / 2);
  }

  SumPlan plan_{three_members()};
  SumResult result_{plan_};
  std::vector<float> elements_ = std::vector<float>(96);
};

TEST_F(SumResultTest, NothingIsAwaitedBeforeThereIsAPlaceForIt) {
  EXPECT_FALSE(result_.is_open());
  EXPECT_FALSE(result_.awaits({2, 4}, 1));
  result_.open({});  // a round without a result
  EXPECT_FALSE(result_.is_open());
  result_.open(elements_);
  EXPECT_TRUE(result_.awaits({2, 4}, 1));
  EXPECT_EQ(result_.at(5), elements_.data() + 5);
}

TEST_F(SumResultTest, EachPieceIsAwaitedFromTheParentAloneAndOnce) {
  result_.open(elements_);
  EXPECT_FALSE(result_.awaits({2, 4}, 2)) << "from another member";
  EXPECT_FALSE(result_.awaits({2, 5}, 1)) << "the last one comes from member 2";
  EXPECT_FALSE(result_.awaits({0, 1}, 1)) << "this member's own";
  EXPECT_TRUE(result_.put(3));
  EXPECT_FALSE(result_.awaits({2, 4}, 1)) << "one of them is in place";
  EXPECT_TRUE(result_.awaits({2, 3}, 1));
}

TEST_F(SumResultTest, ItIsWholeWhenEachPieceIsInPlace) {
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_FALSE(result_.whole());
    EXPECT_FALSE(result_.has(i));
    EXPECT_TRUE(result_.put(i));
    EXPECT_FALSE(result_.put(i)) << "it counts once";
    EXPECT_TRUE(result_.has(i));
    EXPECT_EQ(result_.pieces_in_place(), i + 1);
  }
  EXPECT_TRUE(result_.whole());
}

TEST_F(SumResultTest, ARunGoesOnWithItsLastPiece) {
  ASSERT_FALSE(plan_.down().empty());
  for (std::uint32_t run = 0; run < plan_.down().size(); ++run) {
    for (std::size_t left = plan_.down()[run].pieces; left > 1; --left) EXPECT_FALSE(result_.fills(run));
    EXPECT_TRUE(result_.fills(run));
  }
}

TEST_F(SumResultTest, AResetForgetsTheRound) {
  result_.open(elements_);
  result_.begin();
  result_.put(2);
  result_.came_from(1, 16);
  EXPECT_TRUE(result_.begun());
  EXPECT_EQ(result_.elements_from(1), 16u);
  const bool first_run_filled = result_.fills(0);
  result_.reset();
  EXPECT_FALSE(result_.is_open());
  EXPECT_FALSE(result_.begun());
  EXPECT_FALSE(result_.has(2));
  EXPECT_EQ(result_.pieces_in_place(), 0u);
  EXPECT_EQ(result_.elements_from(1), 0u);
  EXPECT_EQ(result_.fills(0), first_run_filled);
}

}  // namespace
