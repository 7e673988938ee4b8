#include "actors/rules/watch/self_doubt.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Kind = SelfDoubt::Kind;
using Sight = SelfDoubt::Sight;
using Members = std::vector<SelfDoubt::Member>;

SelfDoubt rule() {
  return SelfDoubt(1s, 6s);
}

TEST(SelfDoubt, OneOfSeveralIsLostAtThePatience) {
  SelfDoubt doubt = rule();
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 1s}, {Kind::replica, 50ms}, {Kind::replica, 90ms}}, 10s),
            Sight::clear);
  EXPECT_TRUE(doubt.makes_lost(1s, 10s));
  EXPECT_FALSE(doubt.makes_lost(999ms, 10s));
}

TEST(SelfDoubt, NobodyIsLostWhileAllReplicasAreSilent) {
  SelfDoubt doubt = rule();
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 1s}, {Kind::replica, 920ms}}, 10s), Sight::all_silent);
  EXPECT_FALSE(doubt.makes_lost(1s, 10s));
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 601s}, {Kind::replica, 600s}}, 610s), Sight::all_silent);
  EXPECT_FALSE(doubt.makes_lost(601s, 610s));
  EXPECT_EQ(doubt.silent(), 2u);
  EXPECT_EQ(doubt.of(), 2u);
}

TEST(SelfDoubt, TheOnlyReplicaIsAllOfThem) {
  SelfDoubt doubt = rule();
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 1s}}, 10s), Sight::all_silent);
}

TEST(SelfDoubt, ALoaderThatIsHeardHoldsNoState) {
  SelfDoubt doubt = rule();
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 1s}, {Kind::loader, 10ms}}, 10s), Sight::all_silent);
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 10ms}, {Kind::loader, 1s}}, 11s), Sight::clear);
}

TEST(SelfDoubt, SilencesThatBeganApartAreNotAtOnce) {
  SelfDoubt doubt = rule();
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 1s}, {Kind::replica, 400ms}}, 10s), Sight::clear);
  EXPECT_TRUE(doubt.makes_lost(1s, 10s));
}

// Its link may have been down all the time.
TEST(SelfDoubt, ASilenceOfAllBehindAStandstillBeganWithIt) {
  SelfDoubt doubt = rule();
  doubt.stood_still(3s, 10s);
  doubt.judge(Members{{Kind::replica, 0s}, {Kind::replica, 0s}}, 10s);
  EXPECT_FALSE(doubt.makes_lost(3900ms, 13900ms)) << "as long again, and what is not seen of it";
  EXPECT_TRUE(doubt.makes_lost(4s, 14s));
  doubt.judge(Members{{Kind::replica, 900ms}, {Kind::replica, 900ms}}, 10900ms);
  doubt.judge(Members{{Kind::replica, 10ms}, {Kind::replica, 1s}},
              11s);  // the link is good, after four seconds
  EXPECT_FALSE(doubt.makes_lost(4900ms, 14900ms));
  EXPECT_TRUE(doubt.makes_lost(5s, 15s));
}

TEST(SelfDoubt, AfterAllWereSilentTheyMayComeBackOneAfterTheOther) {
  SelfDoubt doubt = rule();
  doubt.judge(Members{{Kind::replica, 1s}, {Kind::replica, 900ms}}, 10s);  // since 9.1 s
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 10ms}, {Kind::replica, 2s}}, 11100ms), Sight::clear);
  EXPECT_FALSE(doubt.makes_lost(2s, 11100ms));
  EXPECT_FALSE(doubt.makes_lost(3900ms, 13s)) << "it lasted for two seconds: two seconds more";
  EXPECT_TRUE(doubt.makes_lost(4s, 13100ms));
}

TEST(SelfDoubt, AfterASilenceOfAllThatWasShorterThanThePatienceTheyMayToo) {
  SelfDoubt doubt = rule();
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 950ms}, {Kind::replica, 900ms}}, 10s), Sight::clear);
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 10ms}, {Kind::replica, 1s}}, 10100ms), Sight::clear);
  EXPECT_FALSE(doubt.makes_lost(1s, 10100ms));
  EXPECT_TRUE(doubt.makes_lost(2s, 11100ms)) << "it lasted for one second";
}

TEST(SelfDoubt, AShortSilenceOfAllDoesNotEndTheTimeAfterALongOne) {
  SelfDoubt doubt = rule();
  doubt.judge(Members{{Kind::replica, 1s}, {Kind::replica, 1s}}, 10s);  // since 9 s
  doubt.judge(Members{{Kind::replica, 5s}, {Kind::replica, 0s}},
              14s);  // until 19 s; a late message of the dead
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 6s}, {Kind::replica, 1s}}, 15s), Sight::all_silent);
  doubt.judge(Members{{Kind::replica, 0s}, {Kind::replica, 1500ms}}, 15500ms);
  EXPECT_FALSE(doubt.makes_lost(4s, 18s));
  EXPECT_TRUE(doubt.makes_lost(5s, 19s));
}

TEST(SelfDoubt, ReportsAboutOthersAreJudgedWhenAllMayBeBack) {
  SelfDoubt doubt = rule();
  EXPECT_FALSE(doubt.in_doubt(9s));
  doubt.judge(Members{{Kind::replica, 1s}, {Kind::replica, 1s}}, 10s);
  EXPECT_TRUE(doubt.in_doubt(10s));
  doubt.judge(Members{{Kind::replica, 0s}, {Kind::replica, 2s}}, 11s);
  EXPECT_TRUE(doubt.in_doubt(12999ms));
  EXPECT_FALSE(doubt.in_doubt(13s));
}

TEST(SelfDoubt, TheTimeToComeBackHasABound) {
  SelfDoubt doubt = rule();
  doubt.judge(Members{{Kind::replica, 1s}, {Kind::replica, 1s}}, 10s);
  doubt.judge(Members{{Kind::replica, 101s}, {Kind::replica, 101s}}, 110s);
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 1ms}, {Kind::replica, 102s}}, 111s), Sight::clear);
  EXPECT_FALSE(doubt.makes_lost(107s, 116999ms));
  EXPECT_TRUE(doubt.makes_lost(108s, 117s));
}

TEST(SelfDoubt, AMajorityOfThreeOrMoreIsWaitedForLonger) {
  SelfDoubt doubt = rule();
  const Members members{{Kind::replica, 1s}, {Kind::replica, 900ms}, {Kind::replica, 10ms}};
  EXPECT_EQ(doubt.judge(members, 10s), Sight::majority_silent);
  EXPECT_FALSE(doubt.makes_lost(5999ms, 10s));
  EXPECT_TRUE(doubt.makes_lost(6s, 10s));
  EXPECT_EQ(
      doubt.judge(
          Members{{Kind::replica, 1s}, {Kind::replica, 900ms}, {Kind::replica, 0ms}, {Kind::replica, 0ms}},
          11s),
      Sight::clear)
      << "half of them is no majority";
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 1s}, {Kind::replica, 0ms}}, 12s), Sight::clear)
      << "one of two, neither";
}

TEST(SelfDoubt, AfterAMajorityWasSilentTheLastOnesMayStillComeBack) {
  SelfDoubt doubt = rule();
  doubt.judge(Members{{Kind::replica, 1s}, {Kind::replica, 950ms}, {Kind::replica, 10ms}}, 10s);  // since 9 s
  doubt.judge(Members{{Kind::replica, 3s}, {Kind::replica, 2950ms}, {Kind::replica, 10ms}}, 12s);
  EXPECT_EQ(
      doubt.judge(Members{{Kind::replica, 3100ms}, {Kind::replica, 10ms}, {Kind::replica, 10ms}}, 12100ms),
      Sight::clear);
  EXPECT_FALSE(doubt.makes_lost(3100ms, 12100ms));
  EXPECT_TRUE(doubt.makes_lost(6200ms, 15200ms)) << "it lasted for 3.1 s";
}

TEST(SelfDoubt, WhereAMajorityIsTakenForLostNobodyIsWaitedForAnyMore) {
  SelfDoubt doubt = rule();
  doubt.judge(Members{{Kind::replica, 6s}, {Kind::replica, 5950ms}, {Kind::replica, 10ms}}, 15s);
  EXPECT_TRUE(doubt.makes_lost(6s, 15s));
  doubt.decided();
  EXPECT_EQ(doubt.judge(Members{{Kind::replica, 6s}, {Kind::replica, 10ms}}, 15050ms), Sight::clear);
  EXPECT_TRUE(doubt.makes_lost(6s, 15050ms));
}

TEST(SelfDoubt, ANewcomerThatReachesThePatienceFirstIsNotLostAlone) {
  SelfDoubt doubt = rule();
  EXPECT_EQ(doubt.judge(Members{{Kind::newcomer, 1s}, {Kind::replica, 950ms}}, 10s), Sight::all_silent);
  EXPECT_EQ(doubt.of(), 1u);
  EXPECT_EQ(doubt.judge(Members{{Kind::newcomer, 0ms}, {Kind::replica, 2s}}, 11s), Sight::all_silent)
      << "a newcomer holds no state";
}

TEST(SelfDoubt, BeforeTheFirstReplicaLoadersStandForThem) {
  SelfDoubt doubt = rule();
  EXPECT_EQ(doubt.judge(Members{{Kind::loader, 1s}}, 10s), Sight::all_silent);
  EXPECT_EQ(doubt.judge(Members{{Kind::loader, 2s}, {Kind::replica, 10ms}}, 11s), Sight::clear);
}

TEST(SelfDoubt, WhereNoMemberIsLeftNewcomersStandForThem) {
  SelfDoubt doubt = rule();
  EXPECT_EQ(doubt.judge(Members{{Kind::newcomer, 1s}, {Kind::newcomer, 990ms}}, 10s), Sight::all_silent);
  EXPECT_FALSE(doubt.makes_lost(1s, 10s));
  EXPECT_EQ(doubt.of(), 2u);
  EXPECT_EQ(doubt.judge(Members{{Kind::newcomer, 2s}, {Kind::loader, 10ms}}, 11s), Sight::clear);
}

TEST(SelfDoubt, NoMemberMakesNoDoubt) {
  SelfDoubt doubt = rule();
  EXPECT_EQ(doubt.judge(Members{}, 10s), Sight::clear);
}

}  // namespace
}  // namespace muster
