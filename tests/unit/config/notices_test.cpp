#include "config/notices.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Texts = std::vector<std::string>;

TEST(Notices, KeysWithoutEffectAreNamedWhereTheyWereWritten) {
  Job job;
  const Places places{
      {"checkpoint.every", {}}, {"cluster.restarts", {}}, {"train.audit", {}}, {"train.batch", {}}};
  EXPECT_EQ(idle_keys(job, {}, true, false), Texts{});
  EXPECT_EQ(idle_keys(job, places, true, false),
            (Texts{"checkpoint.every has no effect: checkpoint.folder is not set",
                   "cluster.restarts has no effect: cluster.restart is \"never\"",
                   "train.audit has no effect: there is one replica (cluster.replicas)"}));
  job.checkpoint.folder = "here";
  job.cluster.restart = Restart::on_loss;
  job.cluster.replicas = 2;
  EXPECT_EQ(idle_keys(job, places, true, false), Texts{});
}

TEST(Notices, AStepBeyondTheDataIsSaid) {
  Job job;
  job.train.shards = 4;
  job.train.batch = 32;
  EXPECT_EQ(data_notices(job, 128), Texts{});
  EXPECT_EQ(data_notices(job, 127), Texts{"a step takes 128 samples (train.shards 4 x train.batch 32), an "
                                          "epoch has 127: each epoch is one step"});
  const Texts few = data_notices(job, 3);
  ASSERT_EQ(few.size(), 2u);
  EXPECT_EQ(few[1], "train.shards is 4, an epoch has 3 samples: 1 shards get none");
}

TEST(Notices, AnEvaluationWithoutDataIsSaid) {
  const Places places{{"train.evaluate", {}}};
  EXPECT_EQ(idle_keys({}, places, true, false), Texts{});
  EXPECT_EQ(idle_keys({}, places, false, false),
            Texts{"train.evaluate has no effect: the source has no test data"});
}

}  // namespace
}  // namespace muster
