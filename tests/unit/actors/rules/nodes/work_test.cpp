#include "actors/rules/nodes/work.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Work, ACallLastsThroughWhateverElseIsAsked) {
  Heartbeat message;
  message.step = 16;
  message.activity = static_cast<std::uint32_t>(Activity::loading);
  message.doing_ms = 200;
  message.call = static_cast<std::uint32_t>(ThreadCall::Kind::computes);
  message.call_shard = 3;
  message.call_step = 17;
  message.call_ms = 5000;
  const Work work = work_of(message);
  EXPECT_EQ(work.hangs_for(), std::chrono::milliseconds(5000));
  EXPECT_EQ(work.text(), "has been computing shard 3 of step 17 for 5000 ms");
}

TEST(Work, WhoWaitsForDataStandsAndDoesNotHang) {
  Heartbeat message;
  message.step = 16;
  message.activity = static_cast<std::uint32_t>(Activity::loading);
  message.doing_ms = 5000;
  const Work work = work_of(message);
  EXPECT_EQ(work.hangs_for(), std::chrono::milliseconds(0));
  EXPECT_EQ(work.stands_for(), std::chrono::milliseconds(5000));
  EXPECT_EQ(work.text(), "has been waiting for data of step 17 for 5000 ms");
}

TEST(Work, AStatusOfAnotherVersionIsNoHang) {
  Heartbeat message;
  message.activity = message.call = 99;
  EXPECT_FALSE(work_of(message).may_hang());
}

}  // namespace
}  // namespace muster
