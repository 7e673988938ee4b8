// Which way sums go: the one that took less time when all members tried it.
#include "muster/transport/collective/way_choice.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

namespace {

using namespace muster;
using std::chrono::nanoseconds;

using Times = std::array<nanoseconds, 3>;  // by way

// A member whose additions take as long as the test says.
class Member {
 public:
  explicit Member(std::size_t ways = 2) : ways_(ways, [this] { return now_; }) {}

  SumWay round(const Times& times, bool agreed = false) {
    ways_.begin(agreed);
    ways_.start();
    now_ += times[static_cast<std::size_t>(ways_.way())];
    ways_.stop();
    return ways_.way();
  }

  // Rounds that went this way, of so many.
  int count(SumWay way, int rounds, const Times& times, bool agreed = false) {
    int count = 0;
    for (int i = 0; i < rounds; ++i) count += round(times, agreed) == way ? 1 : 0;
    return count;
  }
  bool wants_one_shot() const { return ways_.wants_one_shot(); }

 private:
  nanoseconds now_{0};
  WayChoice ways_;
};

constexpr nanoseconds kShort{1000}, kLong{3000};
constexpr Times kNear{kShort, kLong, kLong}, kFar{kLong, kShort, kShort * 2};
constexpr Times kVeryFar{kLong * 2, kLong, kShort};
constexpr int kFirst = 2 * WayChoice::kFirst, kEvery = WayChoice::kEvery;

TEST(WayChoice, TakesTheQuickerWayAndTriesTheOtherOneNowAndThen) {
  Member far, near;
  EXPECT_EQ(far.count(SumWay::streamed, kFirst, kFar), kFirst / 2);
  EXPECT_EQ(far.count(SumWay::streamed, kEvery - kFirst, kFar), kEvery - kFirst);
  EXPECT_EQ(far.count(SumWay::streamed, kEvery, kFar), kEvery - 1);
  EXPECT_EQ(near.count(SumWay::streamed, kFirst, kNear), kFirst / 2);
  EXPECT_EQ(near.count(SumWay::streamed, kEvery - kFirst, kNear), 0);
  EXPECT_EQ(near.count(SumWay::streamed, kEvery, kNear), 1);
}

TEST(WayChoice, FollowsAProcessThatIsMoved) {
  Member member;
  member.count(SumWay::streamed, kEvery, kNear);
  member.count(SumWay::streamed, 3 * kEvery, kFar);
  EXPECT_EQ(member.count(SumWay::streamed, kEvery, kFar), kEvery - 1);
}

TEST(WayChoice, OneSlowRoundChangesNothing) {
  Member member;
  member.count(SumWay::streamed, kEvery, kFar);
  member.round(kFar);                                       // tries what is cached
  member.round({kLong, std::chrono::milliseconds(5), {}});  // tries the other way, and is interrupted
  EXPECT_EQ(member.count(SumWay::streamed, kEvery - 2, kFar), kEvery - 2);
}

TEST(WayChoice, StaysWithTheFirstWithoutAClockOrAGoodReason) {
  WayChoice blind(3);
  for (int i = 0; i < 3 * kEvery; ++i) {
    blind.begin();
    blind.start();
    blind.stop();
    ASSERT_EQ(blind.way(), SumWay::cached);
  }
  EXPECT_FALSE(blind.wants_one_shot());
  const Times about_the_same{kShort, kShort - kShort / 20, kShort - kShort / 20};
  Member member(3);
  member.count(SumWay::streamed, kEvery, about_the_same);
  EXPECT_FALSE(member.wants_one_shot());
  EXPECT_EQ(member.count(SumWay::cached, kEvery, about_the_same), kEvery - 2);
}

// One alone could not: the others would wait for what it does not send.
TEST(WayChoice, GoesTheWayOfOneShotOnlyIfAllWantIt) {
  Member member(3);
  member.count(SumWay::one_shot, kEvery, kVeryFar);
  EXPECT_TRUE(member.wants_one_shot());
  EXPECT_EQ(member.count(SumWay::one_shot, kEvery, kVeryFar, false), 1);
  EXPECT_EQ(member.count(SumWay::streamed, kEvery, kVeryFar, false), kEvery - 2);
  EXPECT_EQ(member.count(SumWay::one_shot, kEvery, kVeryFar, true), kEvery - 2);
  member.count(SumWay::one_shot, 2 * kEvery, kFar, true);
  EXPECT_FALSE(member.wants_one_shot());
}

// Members that try different ways in one round would measure each other's.
TEST(WayChoice, AllTryTheSameWayInTheSameRound) {
  for (const std::size_t ways : {2u, 3u}) {
    Member one(ways), other(ways);
    for (std::size_t i = 0; i < 4 * kEvery; ++i) {
      const SumWay mine = one.round(kNear), theirs = other.round(kVeryFar);
      const bool tried = i < WayChoice::kFirst * ways || i % kEvery < ways;
      EXPECT_TRUE(mine == theirs || !tried) << i;
    }
  }
}

}  // namespace
