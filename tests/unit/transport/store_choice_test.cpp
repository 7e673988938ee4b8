// Which way of writing sums is taken: the one that took less time when all members tried it.
#include "muster/transport/collective/store_choice.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace muster;
using kernels::Store;
using std::chrono::nanoseconds;

// A member whose additions take as long as the test says.
class Member {
 public:
  Store round(nanoseconds cached, nanoseconds streamed) {
    stores_.begin();
    stores_.start();
    now_ += stores_.way() == Store::cached ? cached : streamed;
    stores_.stop();
    return stores_.way();
  }

  // Rounds that went past the caches, of so many.
  int streamed(int rounds, nanoseconds cached, nanoseconds streamed) {
    int count = 0;
    for (int i = 0; i < rounds; ++i) count += round(cached, streamed) == Store::streamed ? 1 : 0;
    return count;
  }

 private:
  nanoseconds now_{0};
  StoreChoice stores_{[this] { return now_; }};
};

constexpr nanoseconds kShort{1000}, kLong{3000};
constexpr int kFirst = StoreChoice::kFirst, kEvery = StoreChoice::kEvery;

TEST(StoreChoice, TakesTheQuickerWayAndTriesTheOtherOneNowAndThen) {
  Member far, near;
  EXPECT_EQ(far.streamed(kFirst, kLong, kShort), kFirst / 2);
  EXPECT_EQ(far.streamed(kEvery - kFirst, kLong, kShort), kEvery - kFirst);
  EXPECT_EQ(far.streamed(kEvery, kLong, kShort), kEvery - 1);
  EXPECT_EQ(near.streamed(kFirst, kShort, kLong), kFirst / 2);
  EXPECT_EQ(near.streamed(kEvery - kFirst, kShort, kLong), 0);
  EXPECT_EQ(near.streamed(kEvery, kShort, kLong), 1);
}

TEST(StoreChoice, FollowsAProcessThatIsMoved) {
  Member member;
  member.streamed(kEvery, kShort, kLong);
  member.streamed(3 * kEvery, kLong, kShort);
  EXPECT_EQ(member.streamed(kEvery, kLong, kShort), kEvery - 1);
}

TEST(StoreChoice, OneSlowRoundChangesNothing) {
  Member member;
  member.streamed(kEvery, kLong, kShort);
  member.round(kLong, kShort);                        // tries what is cached
  member.round(kLong, std::chrono::milliseconds(5));  // tries the other way, and is interrupted
  EXPECT_EQ(member.streamed(kEvery - 2, kLong, kShort), kEvery - 2);
}

TEST(StoreChoice, StaysWithTheCachesWithoutAClockOrAGoodReason) {
  StoreChoice blind;
  for (int i = 0; i < 3 * kEvery; ++i) {
    blind.begin();
    blind.start();
    blind.stop();
    ASSERT_EQ(blind.way(), Store::cached);
  }
  Member member;
  member.streamed(kEvery, kShort, kShort - kShort / 20);
  EXPECT_EQ(member.streamed(kEvery, kShort, kShort - kShort / 20), 1);
}

// Members that try different ways in one round would measure each other's.
TEST(StoreChoice, AllTryTheSameWayInTheSameRound) {
  Member one, other;
  for (int i = 0; i < 4 * kEvery; ++i) {
    const Store mine = one.round(kShort, kLong), theirs = other.round(kLong, kShort);
    if (i < kFirst || i % kEvery < 2) EXPECT_EQ(mine, theirs) << i;
  }
}

}  // namespace
