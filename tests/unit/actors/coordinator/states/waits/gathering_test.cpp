#include "actors/coordinator/states/waits/gathering.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(Gathering, UnknownMembersAreWaitedForOnce) {
  Gathering gathering(50ms);
  EXPECT_FALSE(gathering.waits_for_unknown_members());
  EXPECT_FALSE(gathering.wait_ends());
  gathering.wait_for_unknown_members(120ms);
  EXPECT_TRUE(gathering.waits_for_unknown_members());
  EXPECT_EQ(gathering.left(), 100ms) << "whole ticks";
  EXPECT_FALSE(gathering.wait_ends());
  EXPECT_EQ(gathering.left(), 50ms);
  EXPECT_TRUE(gathering.wait_ends());
  EXPECT_FALSE(gathering.waits_for_unknown_members());
  EXPECT_FALSE(gathering.wait_ends());
}

TEST(Gathering, AFreePlaceIsWaitedForWithPatience) {
  Gathering gathering(50ms);
  EXPECT_FALSE(gathering.has_free_place());
  EXPECT_FALSE(gathering.patience_is_over(50ms)) << "nothing is waited for";
  gathering.place_is_free();
  EXPECT_TRUE(gathering.has_free_place());
  EXPECT_FALSE(gathering.patience_is_over(100ms));
  EXPECT_TRUE(gathering.patience_is_over(100ms));
}

TEST(Gathering, AnotherPlaceThatIsFreeBeginsTheWaitAnew) {
  Gathering gathering(50ms);
  gathering.place_is_free();
  EXPECT_FALSE(gathering.patience_is_over(100ms));
  gathering.place_is_free();
  EXPECT_FALSE(gathering.patience_is_over(100ms));
  EXPECT_TRUE(gathering.patience_is_over(100ms));
  gathering.none_is_free();
  EXPECT_FALSE(gathering.has_free_place());
  EXPECT_FALSE(gathering.patience_is_over(100ms));
}

TEST(Gathering, ThatTooFewAreHereIsSaidOnceForEachFreePlace) {
  Gathering gathering(50ms);
  gathering.place_is_free();
  EXPECT_TRUE(gathering.too_few());
  EXPECT_FALSE(gathering.too_few());
  gathering.place_is_free();
  EXPECT_TRUE(gathering.too_few());
}

TEST(Gathering, WhoComesOrGoesBeginsTheWaitForOthersAnew) {
  Gathering gathering(50ms);
  EXPECT_FALSE(gathering.nobody_comes(100ms));
  gathering.changed();
  EXPECT_FALSE(gathering.nobody_comes(100ms));
  gathering.place_is_free();
  EXPECT_FALSE(gathering.nobody_comes(100ms));
  EXPECT_TRUE(gathering.nobody_comes(100ms));
}

TEST(Gathering, AVoidViewIsVoidUntilTheJournalSaysSo) {
  Gathering gathering(50ms);
  EXPECT_FALSE(gathering.tries_to_begin_anew());
  gathering.try_to_begin_anew(true);
  EXPECT_TRUE(gathering.tries_to_begin_anew());
  gathering.try_to_begin_anew(false);
  EXPECT_FALSE(gathering.tries_to_begin_anew());
}

}  // namespace
}  // namespace muster
