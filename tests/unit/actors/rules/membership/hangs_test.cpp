#include "actors/rules/membership/hangs.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;

constexpr NodeName kFirst{false, 0}, kSecond{false, 1};

Work in_call(ThreadCall::Kind kind, std::uint32_t shard, std::uint64_t step) {
  return {Activity::updating, {kind, shard, step}, step, milliseconds(100), milliseconds(5000)};
}

TEST(Hangs, TwoAtOneMicroBatchEndTheRun) {
  Hangs hangs;
  const Work work = in_call(ThreadCall::Kind::computes, 3, 17);
  EXPECT_EQ(hangs.ends_for(kFirst, work, true, 4), "");
  hangs.note(kFirst, work, true);
  EXPECT_EQ(hangs.ends_for(kFirst, work, true, 4), "") << "it is the same one";
  const std::string why = hangs.ends_for(kSecond, work, true, 4);
  for (const char* part : {"shard 3 of step 17", "replica 0 and then replica 1"})
    EXPECT_NE(why.find(part), std::string::npos) << why;
}

TEST(Hangs, PeopleAreToldWhereTheyAre) {
  Hangs hangs([](const NodeName& who) { return who.text() + " on host2"; });
  const Work work = in_call(ThreadCall::Kind::computes, 3, 17);
  hangs.note(kFirst, work, true);
  const std::string why = hangs.ends_for(kSecond, work, true, 4);
  EXPECT_NE(why.find("replica 0 on host2 and then replica 1 on host2"), std::string::npos) << why;
}

TEST(Hangs, OtherMicroBatchesAndReadsDoNot) {
  Hangs hangs;
  hangs.note(kFirst, in_call(ThreadCall::Kind::computes, 3, 17), true);
  hangs.note(kFirst, in_call(ThreadCall::Kind::reads, 4, 0), true);
  for (const Work& other :
       {in_call(ThreadCall::Kind::computes, 2, 17), in_call(ThreadCall::Kind::computes, 3, 18),
        in_call(ThreadCall::Kind::reads, 4, 0)})
    EXPECT_EQ(hangs.ends_for(kSecond, other, true, 4), "");
}

TEST(Hangs, TwoAtOneEvaluationEndTheRun) {
  Hangs hangs;
  const Work work = in_call(ThreadCall::Kind::evaluates, 3, 17);
  EXPECT_EQ(work.text(), "has been evaluating shard 3 after step 17 for 5000 ms");
  hangs.note(kFirst, work, true);
  EXPECT_EQ(hangs.ends_for(kSecond, in_call(ThreadCall::Kind::computes, 3, 17), true, 4), "");
  const std::string why = hangs.ends_for(kSecond, work, true, 4);
  EXPECT_NE(why.find("two replicas have hung at shard 3 after step 17"), std::string::npos) << why;
}

// A slow machine may take over from another one: only where many were evicted it is the micro-batch.
TEST(Hangs, ManyAreEvictedBeforeItIsTheMicroBatch) {
  Hangs hangs;
  const Work work = in_call(ThreadCall::Kind::computes, 3, 17);
  for (std::uint32_t slot = 0; slot < Hangs::kEvictionsOfEach * 2; ++slot) {
    EXPECT_EQ(hangs.ends_for({false, slot}, work, false, 2), "") << slot;
    hangs.note({false, slot}, work, false);
  }
  const std::string why = hangs.ends_for({false, 7}, work, false, 2);
  for (const char* part : {"6 replicas were evicted at shard 3 of step 17", "cluster.straggler.patience"})
    EXPECT_NE(why.find(part), std::string::npos) << why;
}

TEST(Hangs, WhoWasEvictedForBeingLateHasNotHung) {
  Hangs hangs;
  const Work work = in_call(ThreadCall::Kind::computes, 3, 17);
  hangs.note(kFirst, work, false);
  EXPECT_EQ(hangs.ends_for(kSecond, work, true, 2), "");
}

// Else a thread that reads one micro-batch after the other of its only shard would seem to be in one call.
TEST(ProgressBoard, TellsTwoCallsForOneShardApart) {
  ProgressBoard board;
  ThreadCall before;
  for (int i = 0; i < 3; ++i) {
    const ProgressBoard::InCall call(board, {ThreadCall::Kind::reads, 3, 0});
    EXPECT_EQ(board.call(), board.call());
    EXPECT_NE(board.call(), before);
    EXPECT_EQ(board.call().shard, 3u);
    before = board.call();
  }
  EXPECT_EQ(board.call().kind, ThreadCall::Kind::none);
}

TEST(ProgressBoard, WhoIsInAGradientWaitsForNoData) {
  ProgressBoard board;
  board.now(Activity::loading, 2);
  const ProgressBoard::InCall call(board, {ThreadCall::Kind::computes, 2, 5});
  EXPECT_EQ(board.reported().activity, Activity::computing);
}

}  // namespace
}  // namespace muster
