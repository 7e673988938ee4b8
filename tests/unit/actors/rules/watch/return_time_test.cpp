#include "actors/rules/watch/return_time.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::milliseconds;

TEST(ReturnTime, OthersFollowTheFirstOneSoon) {
  EXPECT_EQ(wait_for_returns(true, milliseconds(1000), milliseconds(60000)), kReturnMax + milliseconds(1000));
}

TEST(ReturnTime, WhereNoneIsBackTheyMayStillLookForIt) {
  EXPECT_GE(wait_for_returns(false, milliseconds(1000), milliseconds(60000)), milliseconds(60000));
}

TEST(ReturnTime, WhoKnowsLateLooksForOrphanAfterFromThen) {
  EXPECT_EQ(wait_for_returns(false, milliseconds(1000), milliseconds(2000)),
            milliseconds(2000) + kReturnMax + milliseconds(1000));
}

}  // namespace
}  // namespace muster
