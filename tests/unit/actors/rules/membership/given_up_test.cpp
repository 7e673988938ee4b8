#include "actors/rules/membership/given_up.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using std::chrono::seconds;

Job job_with(seconds give_up, seconds orphan, const std::string& folder = "kept") {
  Job job;
  job.checkpoint.folder = folder;
  job.cluster.give_up_after = give_up;
  job.cluster.orphan_after = orphan;
  return job;
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(GivenUp, ReplicasThatWaitLongerGoOnWithTheNextCoordinator) {
  EXPECT_TRUE(says(what_is_left(job_with(seconds(10), seconds(60)), true, true), "keep their state"));
}

TEST(GivenUp, ReplicasThatWaitLessHaveEndedWithACheckpoint) {
  const std::string text = what_is_left(job_with(seconds(600), seconds(60)), true, true);
  EXPECT_FALSE(says(text, "keep their state")) << text;
  EXPECT_TRUE(says(text, "start the coordinator with --resume, and the replicas again")) << text;
}

TEST(GivenUp, AnswersForTheDefaultsOfAJob) {
  Job job;
  job.checkpoint.folder = "kept";
  EXPECT_TRUE(says(what_is_left(job, true, true), "have ended")) << what_is_left(job, true, true);
}

TEST(GivenUp, LaunchedReplicasEndWithTheirLauncher) {
  EXPECT_EQ(what_is_left(job_with(seconds(10), seconds(60)), false, true),
            "Go on from the newest checkpoint with --resume");
}

TEST(GivenUp, WithoutACheckpointALaunchedRunBeginsAgain) {
  EXPECT_TRUE(says(what_is_left(job_with(seconds(10), seconds(60)), false, false), "begin the run again"));
}

TEST(GivenUp, NothingIsKeptWithoutAFolder) {
  EXPECT_TRUE(says(what_is_left(job_with(seconds(10), seconds(60), ""), true, true), "Nothing is kept"));
}

}  // namespace
}  // namespace muster
