#include "actors/rules/membership/standing_still.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/rules/membership/membership_in_view.hpp"

namespace muster {
namespace {

// Its data plane has done nothing for `still_ms`, its compute thread has been in that for 5 s.
const NodeRecord& stands_still(Membership& membership, Activity activity, std::uint64_t still_ms) {
  Heartbeat message;
  message.name = kReplica1;
  message.step = 16;
  message.activity = static_cast<std::uint32_t>(activity);
  message.doing_ms = 5000;
  message.still_ms = still_ms;
  membership.heard(message);
  return membership.at(kReplica1);
}

class StandingStill : public ::testing::Test {
 protected:
  View view_;
  Membership membership_ = membership_in_view(2, 1, view_);
};

TEST_F(StandingStill, NamesWhatTheThreadDoes) {
  EXPECT_EQ(what_it_does(stands_still(membership_, Activity::computing, 0), true),
            "has not begun to compute step 17 for 5000 ms");
}

TEST_F(StandingStill, BlamesDataOnlyWhereTheReplicaReadsItself) {
  const NodeRecord& record = stands_still(membership_, Activity::loading, 0);
  EXPECT_EQ(what_it_does(record, false), "has been waiting for data of step 17 for 5000 ms");
  EXPECT_EQ(what_it_does(record, true).find("has done nothing in the thread of its data plane"), 0u);
}

TEST_F(StandingStill, WhoWaitsForOthersHangsInItsDataPlane) {
  EXPECT_EQ(what_it_does(stands_still(membership_, Activity::idle, 0), false)
                .find("has done nothing in the thread of its data plane"),
            0u);
}

}  // namespace
}  // namespace muster
