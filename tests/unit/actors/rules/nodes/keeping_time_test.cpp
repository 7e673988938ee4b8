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
  EXPECT_EQ(time_while_keeping(job_with_grace(8s), 60s, 2), 4s);
  EXPECT_EQ(time_while_keeping(job_with_grace(8s), 60s, 4), 2s);
  EXPECT_EQ(time_while_keeping(job_with_grace(8s), 1s, 4), 1s);
}

TEST(KeepingTime, IsLongEnoughToKnowWhoItIs) {
  EXPECT_EQ(time_while_keeping(job_with_grace(400ms), 60s, 4), 300ms);
}

TEST(KeepingTime, IsTheUsualOneWherePartsOfTheStateMayBeLost) {
  Job job = job_with_grace(8s);
  job.train.shard_optimizer = true;
  EXPECT_EQ(time_while_keeping(job, 60s, 2), 60s);
}

}  // namespace
}  // namespace muster
