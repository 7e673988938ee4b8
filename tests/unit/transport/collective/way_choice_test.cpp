// Which way sums go: the one that took all members less time when they tried it.
#include "transport/collective/choice/way_choice.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <vector>

namespace {

using namespace muster;
using std::chrono::nanoseconds;

using Times = std::array<nanoseconds, 3>;  // by way

constexpr nanoseconds kShort{1000}, kLong{3000};
constexpr Times kNear{kShort, kLong, kLong}, kFar{kLong, kShort, kShort * 2};
constexpr Times kVeryFar{kLong * 2, kLong, kShort};

// Members of one host whose additions take as long as the test says.
class Members {
 public:
  explicit Members(std::size_t ways = 2, std::size_t count = 2) {
    for (std::size_t i = 0; i < count; ++i) ways_.emplace_back(ways, [this] { return now_; });
  }

  SumWay round(const std::vector<Times>& times) {
    for (WayChoice& one : ways_) one.begin(said_);
    said_ = {};
    for (const WayChoice& one : ways_) said_.add(one.times());
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      ways_[i].start();
      now_ += times[i % times.size()][static_cast<std::size_t>(ways_[i].way())];
      ways_[i].stop();
      EXPECT_EQ(ways_[i].way(), ways_.front().way());
    }
    return ways_.front().way();
  }

  // Rounds that went this way, of so many.
  int count(SumWay way, int rounds, const std::vector<Times>& times) {
    int count = 0;
    for (int i = 0; i < rounds; ++i) count += round(times) == way ? 1 : 0;
    return count;
  }

 private:
  nanoseconds now_{0};
  std::vector<WayChoice> ways_;
  SharedTimes said_;  // in the headers of the round before
};

constexpr int kTries = WayChoice::kTries, kEvery = WayChoice::kEvery;
// The first turns of two ways and of three, and the round in which they say what these took.
constexpr int kFirst = 2 * kTries * WayChoice::kFirst, kSaid = kFirst + 1;
constexpr int kFirstOfThree = 3 * kTries * WayChoice::kFirst, kSaidOfThree = kFirstOfThree + 1;

TEST(WayChoice, TakesTheQuickerWayAndTriesTheOtherOneNowAndThen) {
  Members far, near;
  EXPECT_EQ(far.count(SumWay::streamed, kFirst, {kFar}), kFirst / 2);
  EXPECT_EQ(far.count(SumWay::streamed, kEvery - kFirst, {kFar}), kEvery - kSaid);
  EXPECT_EQ(far.count(SumWay::streamed, kEvery, {kFar}), kEvery - kTries);
  EXPECT_EQ(near.count(SumWay::streamed, kFirst, {kNear}), kFirst / 2);
  EXPECT_EQ(near.count(SumWay::streamed, kEvery - kFirst, {kNear}), 0);
  EXPECT_EQ(near.count(SumWay::streamed, kEvery, {kNear}), kTries);
}

TEST(WayChoice, FollowsAProcessThatIsMoved) {
  Members members;
  members.count(SumWay::streamed, kEvery, {kNear});
  members.count(SumWay::streamed, 3 * kEvery, {kFar});
  EXPECT_EQ(members.count(SumWay::streamed, kEvery, {kFar}), kEvery - kTries);
}

TEST(WayChoice, OneSlowRoundChangesNothing) {
  Members members;
  const Times interrupted{kLong, std::chrono::milliseconds(5), {}};
  members.count(SumWay::streamed, kEvery + kTries, {kFar});
  EXPECT_EQ(members.count(SumWay::streamed, kTries, {interrupted, kFar}), kTries);
  EXPECT_EQ(members.count(SumWay::streamed, kEvery - 2 * kTries, {kFar}), kEvery - 2 * kTries);
}

// How one writes is what it costs the other to read.
TEST(WayChoice, CountsWhatAWayTakesAllOfThem) {
  const Times loses{kShort, kShort * 2, kLong}, wins{kLong * 3, kShort, kLong};
  Members members;
  members.count(SumWay::streamed, kEvery, {loses, wins});
  EXPECT_EQ(members.count(SumWay::streamed, kEvery, {loses, wins}), kEvery - kTries);
  Members three(2, 3);
  three.count(SumWay::streamed, kEvery, {loses, loses, loses});
  EXPECT_EQ(three.count(SumWay::cached, kEvery, {loses, loses, loses}), kEvery - kTries);
}

TEST(WayChoice, StaysWithTheFirstWithoutAClockOrAGoodReason) {
  WayChoice blind(3);
  for (int i = 0; i < 3 * kEvery; ++i) {
    blind.begin();
    blind.start();
    blind.stop();
    ASSERT_EQ(blind.way(), SumWay::cached);
  }
  EXPECT_EQ(blind.times(), WayTimes{});
  const Times about_the_same{kShort, kShort - kShort / 20, kShort - kShort / 20};
  Members members(3);
  members.count(SumWay::streamed, kEvery, {about_the_same});
  EXPECT_EQ(members.count(SumWay::cached, kEvery, {about_the_same}), kEvery - 2 * kTries);
}

TEST(WayChoice, StaysWithTheFirstWhereOneMemberDoesNotSay) {
  SharedTimes said;
  said.add({3000, 1000, 500});
  EXPECT_EQ(said.best(3), SumWay::one_shot);
  EXPECT_EQ(said.best(2), SumWay::streamed);
  said.add({3000, 1000, 0});
  EXPECT_EQ(said.best(3), SumWay::streamed);
  said.add({0, 1000, 500});
  EXPECT_EQ(said.best(3), SumWay::cached);
}

TEST(WayChoice, TriesOneShotWhereItIsOpen) {
  Members members(3);
  EXPECT_EQ(members.count(SumWay::one_shot, kFirstOfThree, {kVeryFar}), kFirstOfThree / 3);
  EXPECT_EQ(members.count(SumWay::one_shot, kEvery - kFirstOfThree, {kVeryFar}), kEvery - kSaidOfThree);
  EXPECT_EQ(members.count(SumWay::one_shot, kEvery, {kVeryFar}), kEvery - 2 * kTries);
  members.count(SumWay::one_shot, 2 * kEvery, {kFar});
  EXPECT_EQ(members.count(SumWay::one_shot, kEvery, {kFar}), kTries);
}

// A clock that stands still, and one that takes longer than a header can say.
TEST(WayChoice, SaysAtMostWhatAHeaderHolds) {
  Members still(2);
  EXPECT_EQ(still.count(SumWay::streamed, kEvery, {Times{}}), kFirst / 2);
  Members members(2);
  const nanoseconds hour = std::chrono::hours(1);
  members.count(SumWay::streamed, kEvery, {{hour, kShort, hour}});
  EXPECT_EQ(members.count(SumWay::streamed, kEvery, {{hour, kShort, hour}}), kEvery - kTries);
}

}  // namespace
