#include "actors/coordinator/states/run_end.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;
using Told = RunEnd::Told;

constexpr RunEnd::Time kRunEndStart{1h};

TEST(RunEnd, ARunThatIsToldToEndDoesSo) {
  RunEnd end;
  EXPECT_EQ(end.told_to_end("SIGTERM", false), Told::first);
  EXPECT_FALSE(end.decided());
  end.decide(kRunEndStart);
  EXPECT_TRUE(end.decided());
  EXPECT_EQ(end.told_to_end("SIGTERM", false), Told::known);
}

TEST(RunEnd, ARunThatKeepsItsStateHasATimeForThat) {
  RunEnd end;
  EXPECT_FALSE(end.keeps_state());
  EXPECT_FALSE(end.keeping_is_over(kRunEndStart));
  end.keep_state("failed", "a reason", kRunEndStart + 10s);
  EXPECT_TRUE(end.keeps_state());
  EXPECT_EQ(end.outcome(), "failed");
  EXPECT_FALSE(end.keeping_is_over(kRunEndStart + 9s));
  EXPECT_TRUE(end.keeping_is_over(kRunEndStart + 10s));
  end.add_reason("; more");
  EXPECT_EQ(end.reason(), "a reason; more");
}

TEST(RunEnd, WhoIsToldAgainWhileItFailsSaysSoBeforeItEndsWithoutState) {
  RunEnd end;
  end.keep_state("failed", "a reason", kRunEndStart + 10s);
  EXPECT_EQ(end.told_to_end("SIGTERM", true), Told::known) << "who asks waits for the checkpoint";
  EXPECT_EQ(end.told_to_end("SIGTERM", false), Told::notice);
  EXPECT_EQ(end.told_to_end("SIGTERM", false), Told::second);
  EXPECT_EQ(end.reason(), "a reason");
}

TEST(RunEnd, WhoIsToldTwiceWhileItIsInterruptedEndsWithoutState) {
  RunEnd end;
  ASSERT_EQ(end.told_to_end("SIGTERM", false), Told::first);
  end.keep_state("interrupted", "SIGTERM", kRunEndStart + 10s);
  end.was_told();
  EXPECT_EQ(end.told_to_end("SIGTERM", false), Told::second);
}

TEST(RunEnd, ASignalThatNodesHadFirstTellsTheReason) {
  RunEnd end;
  end.keep_state("interrupted", "every replica was asked to leave", kRunEndStart + 10s);
  EXPECT_EQ(end.told_to_end("SIGTERM", false), Told::known);
  EXPECT_EQ(end.reason(), "SIGTERM");
  EXPECT_EQ(end.told_to_end("SIGTERM", false), Told::second);
}

TEST(RunEnd, TimeInWhichNobodyCouldWriteDoesNotCount) {
  RunEnd end;
  end.stood_still(1s, kRunEndStart, 10s);
  EXPECT_FALSE(end.keeps_state());
  end.keep_state("failed", "a reason", kRunEndStart + 10s);
  end.stood_still(5s, kRunEndStart + 7s, 10s);
  EXPECT_FALSE(end.keeping_is_over(kRunEndStart + 14s));
  EXPECT_TRUE(end.keeping_is_over(kRunEndStart + 15s));
  end.stood_still(1h, kRunEndStart + 14s, 10s);
  EXPECT_TRUE(end.keeping_is_over(kRunEndStart + 24s)) << "there is never more than the grace";
}

TEST(RunEnd, WhatTheDiskSaidOfTheLastCheckpointIsKnown) {
  RunEnd end;
  EXPECT_EQ(end.refusal(), "");
  end.checkpoint_refused("no space");
  EXPECT_EQ(end.refusal(), "no space");
  end.checkpoint_written();
  EXPECT_EQ(end.refusal(), "");
}

TEST(RunEnd, NodesHaveAWhileToLetGo) {
  RunEnd end;
  EXPECT_FALSE(end.parting_is_over(kRunEndStart));
  end.decide(kRunEndStart);
  EXPECT_FALSE(end.parting_is_over(kRunEndStart + 1999ms));
  EXPECT_TRUE(end.parting_is_over(kRunEndStart + 2s));
}

TEST(RunEnd, IsFinishedOnce) {
  RunEnd end;
  EXPECT_FALSE(end.finished());
  EXPECT_TRUE(end.finish());
  EXPECT_TRUE(end.finished());
  EXPECT_FALSE(end.finish());
}

TEST(RunEnd, KnowsWhetherAllCouldHearOfIt) {
  RunEnd end;
  EXPECT_TRUE(end.all_were_told());
  end.tell(false);
  EXPECT_FALSE(end.all_were_told());
  EXPECT_FALSE(end.gives_up_silence());
  end.give_up_silence();
  EXPECT_TRUE(end.gives_up_silence());
}

}  // namespace
}  // namespace muster
