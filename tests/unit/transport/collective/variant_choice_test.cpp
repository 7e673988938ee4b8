// Which way sums go: the one that took all members less time when they tried it.
#include "transport/collective/choice/variant_choice.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <vector>

namespace {

using namespace muster;
using std::chrono::nanoseconds;

using Times = std::array<nanoseconds, 3>;  // by variant

constexpr nanoseconds kShort{1000}, kLong{3000};
constexpr Times kNear{kShort, kLong, kLong}, kFar{kLong, kShort, kShort * 2};
constexpr Times kVeryFar{kLong * 2, kLong, kShort};

// Members of one host whose additions take as long as the test says.
class Members {
 public:
  explicit Members(std::size_t variants = 2, std::size_t count = 2) {
    for (std::size_t i = 0; i < count; ++i) variants_.emplace_back(variants, [this] { return now_; });
  }

  SumVariant round(const std::vector<Times>& times) {
    for (VariantChoice& one : variants_) one.begin(said_);
    said_ = {};
    for (const VariantChoice& one : variants_) said_.add(one.times());
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      variants_[i].start();
      now_ += times[i % times.size()][static_cast<std::size_t>(variants_[i].variant())];
      variants_[i].stop();
      EXPECT_EQ(variants_[i].variant(), variants_.front().variant());
    }
    return variants_.front().variant();
  }

  // Rounds that went this way, of so many.
  int count(SumVariant variant, int rounds, const std::vector<Times>& times) {
    int count = 0;
    for (int i = 0; i < rounds; ++i) count += round(times) == variant ? 1 : 0;
    return count;
  }

 private:
  nanoseconds now_{0};
  std::vector<VariantChoice> variants_;
  SharedTimes said_;  // in the headers of the round before
};

constexpr int kTries = VariantChoice::kTries, kEvery = VariantChoice::kEvery;
// The first turns of two variants and of three, and the round in which they say what these took.
constexpr int kFirst = 2 * kTries * VariantChoice::kFirst, kSaid = kFirst + 1;
constexpr int kFirstOfThree = 3 * kTries * VariantChoice::kFirst, kSaidOfThree = kFirstOfThree + 1;

TEST(VariantChoice, TakesTheQuickerVariantAndTriesTheOtherOneNowAndThen) {
  Members far, near;
  EXPECT_EQ(far.count(SumVariant::streamed, kFirst, {kFar}), kFirst / 2);
  EXPECT_EQ(far.count(SumVariant::streamed, kEvery - kFirst, {kFar}), kEvery - kSaid);
  EXPECT_EQ(far.count(SumVariant::streamed, kEvery, {kFar}), kEvery - kTries);
  EXPECT_EQ(near.count(SumVariant::streamed, kFirst, {kNear}), kFirst / 2);
  EXPECT_EQ(near.count(SumVariant::streamed, kEvery - kFirst, {kNear}), 0);
  EXPECT_EQ(near.count(SumVariant::streamed, kEvery, {kNear}), kTries);
}

TEST(VariantChoice, FollowsAProcessThatIsMoved) {
  Members members;
  members.count(SumVariant::streamed, kEvery, {kNear});
  members.count(SumVariant::streamed, 3 * kEvery, {kFar});
  EXPECT_EQ(members.count(SumVariant::streamed, kEvery, {kFar}), kEvery - kTries);
}

TEST(VariantChoice, OneSlowRoundChangesNothing) {
  Members members;
  const Times interrupted{kLong, std::chrono::milliseconds(5), {}};
  members.count(SumVariant::streamed, kEvery + kTries, {kFar});
  EXPECT_EQ(members.count(SumVariant::streamed, kTries, {interrupted, kFar}), kTries);
  EXPECT_EQ(members.count(SumVariant::streamed, kEvery - 2 * kTries, {kFar}), kEvery - 2 * kTries);
}

// How one writes is what it costs the other to read.
TEST(VariantChoice, CountsWhatAVariantTakesAllOfThem) {
  const Times loses{kShort, kShort * 2, kLong}, wins{kLong * 3, kShort, kLong};
  Members members;
  members.count(SumVariant::streamed, kEvery, {loses, wins});
  EXPECT_EQ(members.count(SumVariant::streamed, kEvery, {loses, wins}), kEvery - kTries);
  Members three(2, 3);
  three.count(SumVariant::streamed, kEvery, {loses, loses, loses});
  EXPECT_EQ(three.count(SumVariant::cached, kEvery, {loses, loses, loses}), kEvery - kTries);
}

TEST(VariantChoice, StaysWithTheFirstWithoutAClockOrAGoodReason) {
  VariantChoice blind(3);
  for (int i = 0; i < 3 * kEvery; ++i) {
    blind.begin();
    blind.start();
    blind.stop();
    ASSERT_EQ(blind.variant(), SumVariant::cached);
  }
  EXPECT_EQ(blind.times(), VariantTimes{});
  const Times about_the_same{kShort, kShort - kShort / 20, kShort - kShort / 20};
  Members members(3);
  members.count(SumVariant::streamed, kEvery, {about_the_same});
  EXPECT_EQ(members.count(SumVariant::cached, kEvery, {about_the_same}), kEvery - 2 * kTries);
}

TEST(VariantChoice, StaysWithTheFirstWhereOneMemberDoesNotSay) {
  SharedTimes said;
  said.add({3000, 1000, 500});
  EXPECT_EQ(said.best(3), SumVariant::one_shot);
  EXPECT_EQ(said.best(2), SumVariant::streamed);
  said.add({3000, 1000, 0});
  EXPECT_EQ(said.best(3), SumVariant::streamed);
  said.add({0, 1000, 500});
  EXPECT_EQ(said.best(3), SumVariant::cached);
}

TEST(VariantChoice, TriesOneShotWhereItIsOpen) {
  Members members(3);
  EXPECT_EQ(members.count(SumVariant::one_shot, kFirstOfThree, {kVeryFar}), kFirstOfThree / 3);
  EXPECT_EQ(members.count(SumVariant::one_shot, kEvery - kFirstOfThree, {kVeryFar}), kEvery - kSaidOfThree);
  EXPECT_EQ(members.count(SumVariant::one_shot, kEvery, {kVeryFar}), kEvery - 2 * kTries);
  members.count(SumVariant::one_shot, 2 * kEvery, {kFar});
  EXPECT_EQ(members.count(SumVariant::one_shot, kEvery, {kFar}), kTries);
}

// A clock that stands still, and one that takes longer than a header can say.
TEST(VariantChoice, SaysAtMostWhatAHeaderHolds) {
  Members still(2);
  EXPECT_EQ(still.count(SumVariant::streamed, kEvery, {Times{}}), kFirst / 2);
  Members members(2);
  const nanoseconds hour = std::chrono::hours(1);
  members.count(SumVariant::streamed, kEvery, {{hour, kShort, hour}});
  EXPECT_EQ(members.count(SumVariant::streamed, kEvery, {{hour, kShort, hour}}), kEvery - kTries);
}

}  // namespace
