#include "actors/rules/nodes/keeping_time.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

Job job_with_grace(std::chrono::milliseconds grace) {
  Job job;
  job.checkpoint.grace = grace;
  job.cluster.detect.patience = 100ms;
  return job;
}

TEST(KeepingTime, IsAShareOfTheGraceAndNeverLongerThanUsual) {
  EXPECT_EQ(time_while_keeping(job_with_grace(8s), 60s, 2, true), 4s);
  EXPECT_EQ(time_while_keeping(job_with_grace(8s), 60s, 4, true), 2s);
  EXPECT_EQ(time_while_keeping(job_with_grace(8s), 1s, 4, true), 1s);
}

TEST(KeepingTime, IsLongEnoughToKnowWhoItIs) {
  EXPECT_EQ(time_while_keeping(job_with_grace(400ms), 60s, 4, true), 300ms);
}

TEST(KeepingTime, IsTheUsualOneWhereAPartOfTheStateWouldBeLost) {
  EXPECT_EQ(time_while_keeping(job_with_grace(8s), 60s, 2, false), 60s);
}

}  // namespace
}  // namespace muster
