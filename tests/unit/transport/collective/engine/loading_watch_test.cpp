#include "transport/collective/engine/loading_watch.hpp"

#include <gtest/gtest.h>

namespace {

using namespace muster;
using std::chrono::seconds;

constexpr ProgressStatus kLoading{Activity::loading, 0, 7};
constexpr PeerId kLoader = 40;

// It is asked at these times what the node does.
class LoadingWatchTest : public ::testing::Test {
 protected:
  bool tick(seconds now, const ProgressStatus& status) {
    return watch_.still(status, [&] {
      ++looks_;
      return std::chrono::nanoseconds(now);
    });
  }
  LoadingSight sight(seconds now) const { return watch_.sight(kLoader, liveness_, demands_, now); }

  LoadingWatch watch_;
  Liveness liveness_;
  DemandBook demands_;
  int looks_ = 0;  // at the clock
};

TEST_F(LoadingWatchTest, ANodeWaitsOnceItHasLoadedForATickAndGotNothing) {
  EXPECT_FALSE(tick(seconds(1), kLoading));
  EXPECT_TRUE(tick(seconds(2), kLoading));
  EXPECT_TRUE(tick(seconds(3), kLoading));
  EXPECT_EQ(looks_, 1) << "the clock is looked at where something has changed";
  EXPECT_EQ(sight(seconds(3)).waiting_since, seconds(1));
  EXPECT_FALSE(tick(seconds(4), {Activity::loading, 0, 8})) << "it has got a micro-batch";
  EXPECT_EQ(sight(seconds(4)).waiting_since, seconds(4));
}

TEST_F(LoadingWatchTest, ANodeThatDoesSomethingElseDoesNotWait) {
  for (const Activity activity : {Activity::idle, Activity::computing, Activity::reducing}) {
    EXPECT_FALSE(tick(seconds(1), {activity, 0, 7}));
    EXPECT_FALSE(tick(seconds(2), {activity, 0, 7}));
  }
}

TEST_F(LoadingWatchTest, ANewViewBeginsAnew) {
  tick(seconds(1), kLoading);
  watch_.enter();
  EXPECT_FALSE(tick(seconds(2), kLoading));
  EXPECT_TRUE(tick(seconds(3), kLoading));
  EXPECT_EQ(sight(seconds(3)).waiting_since, seconds(2));
}

TEST_F(LoadingWatchTest, ALoaderIsSeenWithWhatItOwesAndSays) {
  DemandBody demand;
  demand.shard = 3;
  demand.ticket = 1;
  demands_.asked(kLoader, demand, seconds(2));
  demand.ticket = 2;
  demands_.asked(kLoader, demand, seconds(4));
  liveness_.asked(kLoader, seconds(5));
  liveness_.told(kLoader, {Activity::idle, 0, 1}, seconds(6), 2);
  const LoadingSight seen = sight(seconds(9));
  EXPECT_EQ(seen.loader.peer, kLoader);
  EXPECT_EQ(seen.loader.status_at, seconds(6));
  EXPECT_EQ(seen.owes, 2u);
  EXPECT_EQ(seen.unanswered, 2u);
  EXPECT_EQ(seen.asked_at, seconds(4));
  EXPECT_EQ(seen.now, seconds(9));
}

TEST_F(LoadingWatchTest, ALoaderThatOwesNothingWasAskedNow) {
  const LoadingSight seen = sight(seconds(9));
  EXPECT_EQ(seen.unanswered, 0u);
  EXPECT_EQ(seen.owes, 0u);
  EXPECT_EQ(seen.asked_at, seconds(9));
}

}  // namespace
