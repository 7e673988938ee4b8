#include "transport/collective/tree_sum/fold_queue.hpp"

#include <gtest/gtest.h>

namespace {

using namespace muster;

// Folds end when the test says so.
class Unit final : public FoldUnit {
 public:
  float* make(std::size_t) override { return nullptr; }
  std::uint64_t fold(const FoldProgram&, std::span<const float* const>, std::size_t, float, float*) override {
    return 0;
  }
  std::uint64_t ended() override { return last_ended; }
  void wait() noexcept override {}
  void pairs(std::span<const float>, std::size_t, std::vector<float>&) override {}

  std::uint64_t last_ended = 0;
};

TEST(FoldQueue, NothingWaitsForTheHost) {
  FoldQueue<int> queue(nullptr);
  EXPECT_FALSE(queue.defer(1));
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.take());
}

TEST(FoldQueue, WhatFollowsAFoldWaitsForItsEnd) {
  Unit unit;
  FoldQueue<int> queue(&unit);
  queue.begun(1);
  EXPECT_TRUE(queue.defer(10));
  EXPECT_FALSE(queue.take());
  unit.last_ended = 1;
  EXPECT_EQ(queue.take(), std::optional(10));
  EXPECT_TRUE(queue.empty());
}

TEST(FoldQueue, WhatFollowsAnEndedFoldNeedNotWait) {
  Unit unit;
  FoldQueue<int> queue(&unit);
  unit.last_ended = 1;
  queue.begun(1);
  EXPECT_FALSE(queue.defer(10));
  EXPECT_TRUE(queue.empty());
}

TEST(FoldQueue, KeepsTheOrderOfTheFolds) {
  Unit unit;
  FoldQueue<int> queue(&unit);
  queue.begun(1);
  EXPECT_TRUE(queue.defer(10));
  unit.last_ended = 1;
  EXPECT_TRUE(queue.defer(11)) << "its fold has ended, but what is before it has not been done";
  queue.begun(2);
  EXPECT_TRUE(queue.defer(20));
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(queue.take(), std::optional(10));
  EXPECT_EQ(queue.take(), std::optional(11));
  EXPECT_FALSE(queue.take());
  unit.last_ended = 2;
  EXPECT_EQ(queue.take(), std::optional(20));
  EXPECT_FALSE(queue.take());
}

}  // namespace
