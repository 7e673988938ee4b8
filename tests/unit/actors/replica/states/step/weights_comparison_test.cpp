#include "actors/replica/states/step/weights_comparison.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

View view_of(std::uint32_t number, std::size_t replicas = 2) {
  View view;
  view.number = number;
  view.replicas.resize(replicas);
  return view;
}

constexpr bool kAtEnd = true, kCheckpoint = true;

TEST(WeightsComparison, IsDueWhereSomethingOutlivesTheView) {
  const WeightsComparison weights;
  EXPECT_FALSE(weights.due(view_of(1), 5, false, false));
  EXPECT_TRUE(weights.due(view_of(1), 5, kAtEnd, false));
  EXPECT_TRUE(weights.due(view_of(1), 5, false, kCheckpoint));
  View last = view_of(1);
  last.last = true;
  EXPECT_TRUE(weights.due(last, 5, false, false));
}

TEST(WeightsComparison, IsDueOnceInAViewThatGaveSomethingToMembers) {
  for (const auto give :
       {+[](View& view) { view.unproven.emplace_back(); }, +[](View& view) { view.behind.emplace_back(); },
        +[](View& view) { view.back = true; }}) {
    WeightsComparison weights;
    View view = view_of(3);
    give(view);
    EXPECT_TRUE(weights.due(view, 5, false, false));
    weights.compared(3, 5);
    EXPECT_FALSE(weights.due(view, 6, false, false));
    view.number = 4;
    EXPECT_TRUE(weights.due(view, 6, false, false));
  }
}

TEST(WeightsComparison, NobodyComparesAlone) {
  const WeightsComparison weights;
  EXPECT_FALSE(weights.due(view_of(1, 1), 5, kAtEnd, kCheckpoint));
}

TEST(WeightsComparison, NothingIsComparedTwice) {
  WeightsComparison weights;
  weights.compared(1, 5);
  EXPECT_FALSE(weights.due(view_of(1), 5, kAtEnd, kCheckpoint));
  EXPECT_TRUE(weights.due(view_of(1), 6, kAtEnd, false));
  EXPECT_TRUE(weights.due(view_of(2), 5, kAtEnd, false)) << "other members";
}

TEST(WeightsComparison, TheHashIsKnownWhereItWasCompared) {
  WeightsComparison weights;
  const WeightsHash whole{7, WeightsHash::kWhole, 99};
  weights.weighed(whole);
  EXPECT_FALSE(weights.known(1, 5)) << "this replica's alone";
  weights.compared(1, 5);
  EXPECT_EQ(weights.known(1, 5), whole);
  EXPECT_FALSE(weights.known(1, 6)) << "the weights have changed";
  EXPECT_FALSE(weights.known(2, 5));
}

TEST(WeightsComparison, ABlockGoesWithTheNextRound) {
  WeightsComparison weights;
  EXPECT_EQ(weights.block().block, WeightsHash::kNone);
  weights.block_weighed({7, 2, 99});
  EXPECT_EQ(weights.block(), (WeightsHash{7, 2, 99}));
  weights.forget_block();
  EXPECT_EQ(weights.block().block, WeightsHash::kNone);
}

}  // namespace
}  // namespace muster
