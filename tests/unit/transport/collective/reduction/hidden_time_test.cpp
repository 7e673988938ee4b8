#include "transport/collective/reduction/hidden_time.hpp"

#include <gtest/gtest.h>

namespace {

using muster::HiddenTime;
using Time = HiddenTime::Time;

TEST(HiddenTime, CountsWhileSomethingIsUnderWay) {
  HiddenTime hidden;
  hidden.look(true, [] { return Time(10); });
  hidden.look(true, []() -> Time { throw "nothing has changed"; });
  hidden.look(false, [] { return Time(15); });
  hidden.look(false, []() -> Time { throw "nothing has changed"; });
  EXPECT_EQ(hidden.total(), Time(5));
  hidden.look(true, [] { return Time(20); });
  hidden.computed(Time(23));
  EXPECT_EQ(hidden.total(), Time(8));
}

TEST(HiddenTime, IsNoneWhereNothingIsUnderWayAtTheEnd) {
  HiddenTime hidden;
  hidden.computed(Time(23));
  EXPECT_EQ(hidden.total(), Time(0));
}

TEST(HiddenTime, BeginsTheNextRoundWithNothing) {
  HiddenTime hidden;
  hidden.look(true, [] { return Time(10); });
  hidden.computed(Time(15));
  hidden.reset();
  hidden.computed(Time(20));
  EXPECT_EQ(hidden.total(), Time(0));
}

}  // namespace
