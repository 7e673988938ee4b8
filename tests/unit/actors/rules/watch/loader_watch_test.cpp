#include <gtest/gtest.h>

#include "actors/rules/watch/loader_watch.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr NodeName kLoader{true, 1};

// Replica 4 waits since 10 s for loader 1, which answers pings and owes it three micro-batches.
LoadingSight sight(std::chrono::nanoseconds now) {
  LoadingSight sight;
  sight.view = 3;
  sight.loader.progress = sight.loader.status_at = now;
  sight.owes = sight.unanswered = 3;
  sight.asked_at = sight.waiting_since = seconds(10);
  sight.now = now;
  return sight;
}

LoaderWatch watch(milliseconds stuck_after = seconds(60)) {
  ClusterConfig cluster;  // cluster.detect.patience is 1 s
  cluster.straggler.stuck_after = stuck_after;
  return LoaderWatch(4, cluster);
}

TEST(LoaderWatch, SaysAfterEachPatienceThatALoaderIsLate) {
  LoaderWatch loaders = watch();
  EXPECT_FALSE(loaders.of(sight(milliseconds(10'900)), kLoader, 17).held_up);
  const auto findings = loaders.of(sight(milliseconds(11'000)), kLoader, 17);
  ASSERT_TRUE(findings.held_up);
  EXPECT_EQ(findings.held_up->late(), kLoader);
  EXPECT_EQ(findings.held_up->name, (NodeName{false, 4}));
  EXPECT_EQ(findings.held_up->step, 17u);
  EXPECT_EQ(findings.held_up->cause, "data");
  EXPECT_EQ(findings.held_up->waited_for, "3 micro-batches");
  EXPECT_EQ(findings.held_up->waited_ms, 1000);
  EXPECT_FALSE(findings.held_up->stuck || findings.held_up->link_broken || findings.complaint ||
               findings.ask_again);
  EXPECT_FALSE(loaders.of(sight(milliseconds(11'900)), kLoader, 17).held_up);
  EXPECT_TRUE(loaders.of(sight(milliseconds(12'000)), kLoader, 17).held_up);
  LoadingSight next = sight(milliseconds(12'500));
  next.waiting_since = milliseconds(11'500);
  EXPECT_TRUE(loaders.of(next, kLoader, 18).held_up) << "another micro-batch";
}

TEST(LoaderWatch, ALoaderThatStandsStillIsStuckAndThatIsRepeated) {
  LoaderWatch loaders = watch(seconds(5));
  LoadingSight still = sight(seconds(15));
  still.loader.progress = seconds(9);
  const auto findings = loaders.of(still, kLoader, 17);
  ASSERT_TRUE(findings.held_up);
  EXPECT_TRUE(findings.held_up->stuck);
  still.now = milliseconds(15'900);
  EXPECT_FALSE(loaders.of(still, kLoader, 17).held_up);
  still.now = seconds(16);
  EXPECT_TRUE(loaders.of(still, kLoader, 17).held_up) << "a new coordinator has not heard of it";
  still.loader.progress = seconds(12);
  EXPECT_FALSE(watch(seconds(5)).of(still, kLoader, 17).held_up->stuck) << "it has read something since";
}

TEST(LoaderWatch, ALoaderThatOwesNothingIsAskedAgainAndThenStuck) {
  LoaderWatch loaders = watch(seconds(20));
  LoadingSight lost = sight(milliseconds(14'900));
  lost.owes = 0;
  EXPECT_FALSE(loaders.of(lost, kLoader, 17).ask_again);
  lost.now = lost.loader.progress = seconds(15);
  EXPECT_TRUE(loaders.of(lost, kLoader, 17).ask_again);
  lost.asked_at = seconds(15);
  EXPECT_FALSE(loaders.of(lost, kLoader, 17).ask_again) << "it was asked just now";
  lost.arriving = true;
  lost.now = seconds(25);
  EXPECT_FALSE(loaders.of(lost, kLoader, 17).ask_again) << "the answer arrives";
  lost.now = seconds(30);
  EXPECT_FALSE(loaders.of(lost, kLoader, 17).held_up->stuck) << "it has not answered since";
  lost.now = lost.loader.progress = lost.loader.status_at = seconds(31);
  EXPECT_TRUE(loaders.of(lost, kLoader, 17).held_up->stuck) << "what it does is not for this node";
}

TEST(LoaderWatch, BehindABrokenLinkTheTimeOfALoaderThatOwesNothingBeginsAnew) {
  LoaderWatch loaders = watch(seconds(2));
  LoadingSight cut = sight(seconds(14));
  cut.owes = 0;
  cut.loader.unanswered_since = milliseconds(10'100);
  EXPECT_TRUE(loaders.of(cut, kLoader, 17).complaint);
  cut.now = cut.loader.progress = cut.loader.status_at = milliseconds(14'100);
  cut.loader.unanswered_since.reset();
  const auto findings = loaders.of(cut, kLoader, 17);
  EXPECT_FALSE(findings.held_up && findings.held_up->stuck) << "the demands may have come just now";
  cut.now = cut.loader.progress = cut.loader.status_at = seconds(16);
  EXPECT_TRUE(loaders.of(cut, kLoader, 17).held_up->stuck);
}

TEST(LoaderWatch, BehindABrokenLinkOneThatWasIdleHasItsTimeForDemandsThatComeNow) {
  LoaderWatch loaders = watch(seconds(2));
  LoadingSight idle = sight(seconds(14));
  idle.owes = 0;
  idle.loader.progress = seconds(9);
  idle.loader.status_at = milliseconds(10'050);
  idle.loader.unanswered_since = milliseconds(10'100);
  EXPECT_TRUE(loaders.of(idle, kLoader, 17).complaint);
  LoadingSight healed = idle;
  healed.owes = 3;
  healed.now = healed.loader.status_at = milliseconds(14'100);
  healed.loader.unanswered_since.reset();
  const auto findings = loaders.of(healed, kLoader, 17);
  EXPECT_FALSE(findings.held_up && findings.held_up->stuck);
  healed.now = healed.loader.status_at = milliseconds(16'100);
  EXPECT_TRUE(loaders.of(healed, kLoader, 17).held_up->stuck);
}

TEST(LoaderWatch, WithoutAMicroBatchALoaderIsStuckAtLastWhateverItDoes) {
  LoaderWatch loaders = watch(seconds(2));
  EXPECT_FALSE(loaders.of(sight(seconds(29)), kLoader, 17).held_up->stuck);
  EXPECT_TRUE(loaders.of(sight(seconds(30)), kLoader, 17).held_up->stuck);
}

TEST(LoaderWatch, ComplainsOfALinkOnWhichNothingComes) {
  LoaderWatch loaders = watch();
  LoadingSight silent = sight(milliseconds(11'000));
  silent.loader.unanswered_since = milliseconds(10'100);
  EXPECT_FALSE(loaders.of(silent, kLoader, 17).complaint);
  silent.now = milliseconds(11'100);
  const auto findings = loaders.of(silent, kLoader, 17);
  ASSERT_TRUE(findings.complaint);
  EXPECT_EQ(findings.complaint->peer, kLoader);
  EXPECT_EQ(findings.complaint->name, (NodeName{false, 4}));
  EXPECT_TRUE(findings.complaint->peer_known);
  EXPECT_EQ(findings.complaint->reason, "no frame of it for 1000 ms");
  EXPECT_FALSE(findings.ask_again);
  EXPECT_FALSE(loaders.of(silent, kLoader, 17).complaint) << "once a patience";
}

TEST(LoaderWatch, AnAnswerMayStandBehindAMicroBatchThatArrives) {
  LoaderWatch loaders = watch();
  LoadingSight arriving = sight(seconds(14));
  arriving.loader.unanswered_since = milliseconds(10'100);
  arriving.arriving = true;
  EXPECT_FALSE(loaders.of(arriving, kLoader, 17).complaint);
  arriving.now = milliseconds(15'100);
  EXPECT_TRUE(loaders.of(arriving, kLoader, 17).complaint);
}

}  // namespace
}  // namespace muster
