#include <gtest/gtest.h>

#include "actors/rules/watch/wait_share.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

RoundRecord record(std::uint32_t last, milliseconds at) {
  RoundRecord record;
  record.last_report_of = last;
  record.last_report_at = at;
  return record;
}

TEST(WaitShare, TheTimeUntilTheLastReportGoesToItsSender) {
  WaitShare share;
  share.round_done(record(3, milliseconds(1200)), milliseconds(1000));
  share.round_done(record(1, milliseconds(2250)), milliseconds(2000));
  share.round_done(record(3, milliseconds(3100)), milliseconds(3000));
  PhaseTimes phases;
  share.fill(phases);
  EXPECT_DOUBLE_EQ(phases.wait_for_peers_s, 0.55);
  EXPECT_EQ(phases.waited_most_for, 3);
  EXPECT_DOUBLE_EQ(phases.waited_most_s, 0.3);
}

TEST(WaitShare, WhoCameBeforeWasNotWaitedFor) {
  WaitShare share;
  share.round_done(record(1, milliseconds(900)), milliseconds(1000));
  share.round_done(record(1, milliseconds(0)), milliseconds(1000));
  PhaseTimes phases;
  share.fill(phases);
  EXPECT_EQ(phases.wait_for_peers_s, 0);
  EXPECT_EQ(phases.waited_most_for, -1);
}

}  // namespace
}  // namespace muster
