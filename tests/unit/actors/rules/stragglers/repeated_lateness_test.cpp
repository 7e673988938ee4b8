#include <gtest/gtest.h>

#include "actors/rules/stragglers/repeated_lateness.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Fault = RepeatedLateness::Fault;

class Lateness : public ::testing::Test {
 protected:
  bool said(std::uint64_t step, RepeatedLateness::Time now, Fault fault = Fault::own, std::uint32_t by = 0) {
    return repeated_.said({false, by}, {false, 1}, fault, step, now);
  }
  RepeatedLateness repeated_{milliseconds(300)};
};

TEST_F(Lateness, IsRepeatedBehindAMoment) {
  EXPECT_FALSE(said(7, seconds(1)));
  EXPECT_FALSE(said(7, milliseconds(1299)));
  EXPECT_TRUE(said(7, milliseconds(1300)));
}

TEST_F(Lateness, IsRepeatedInALaterStepHoweverLongStepsTake) {
  EXPECT_FALSE(said(7, seconds(0)));
  EXPECT_TRUE(said(8, seconds(1000)));
  EXPECT_TRUE(said(8 + RepeatedLateness::kStepsRemembered, seconds(9000)));
}

TEST_F(Lateness, OfManyStepsAgoIsAnotherAccident) {
  EXPECT_FALSE(said(7, seconds(0)));
  EXPECT_FALSE(said(8 + RepeatedLateness::kStepsRemembered, seconds(10)));
}

TEST_F(Lateness, OfAnotherFaultIsAnother) {
  EXPECT_FALSE(said(7, seconds(0), Fault::own));
  EXPECT_FALSE(said(7, seconds(1), Fault::loader));
  EXPECT_TRUE(said(7, seconds(2), Fault::own)) << "what was said of the loader takes nothing back";
}

TEST_F(Lateness, IsSaidByTheSameNode) {
  EXPECT_FALSE(said(7, seconds(0)));
  EXPECT_FALSE(said(7, seconds(1), Fault::own, 2));
}

TEST_F(Lateness, BeginsAnewWithEachView) {
  EXPECT_FALSE(said(7, seconds(0)));
  repeated_.clear();
  EXPECT_FALSE(said(7, seconds(1)));
}

}  // namespace
}  // namespace muster
