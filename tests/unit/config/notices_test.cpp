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

TEST(Notices, KeysForSeveralHostsHaveNoEffectOnOne) {
  Job job;
  job.cluster.replicas = 2;
  job.train.wire = GradientWire::float16;
  const Places places{{"cluster.data_ports", {}},
                      {"cluster.join_share", {}},
                      {"cluster.orphan_after", {}},
                      {"train.wire", {}}};
  EXPECT_EQ(
      idle_keys(job, places, true, false),
      (Texts{
          "cluster.data_ports has no effect: `muster run` has all replicas on this host, and they share "
          "memory; leave it out; it is for `muster coordinate`",
          "cluster.join_share has no effect: no replica joins: cluster.restart is \"never\"; leave it out, "
          "set cluster.restart = \"on_loss\", or start the run with `muster coordinate`",
          "cluster.orphan_after has no effect: the replicas of `muster run` end with it; leave it out; it "
          "is for `muster coordinate`",
          "train.wire has no effect: it saves bytes between hosts, and `muster run` has one (gradients are "
          "rounded all the same); leave it out, unless the run is to have the bits of one on several "
          "hosts"}));
  EXPECT_EQ(idle_keys(job, places, true, true), Texts{}) << "of `muster coordinate`";
  job.cluster.listen = "10.0.0.1";
  EXPECT_EQ(idle_keys(job, places, true, false), Texts{}) << "a program of its own may start nodes elsewhere";
}

TEST(Notices, AReplicaThatEndsTheRunNeedsNoOthersToGoOn) {
  Job job;
  const Places places{{"cluster.min_replicas", {}}};
  EXPECT_EQ(idle_keys(job, places, true, false), Texts{});
  job.cluster.on_loss = OnLoss::fail;
  EXPECT_EQ(idle_keys(job, places, true, false),
            Texts{"cluster.min_replicas has no effect: with cluster.on_loss = \"fail\" the first loss ends "
                  "the run (only replicas that are asked to leave count); "
                  "leave it out, or let the run go on with cluster.on_loss = \"continue\""});
}

TEST(Notices, ALearningRateThatTheTrainingIsTooShortForIsSaid) {
  Job job;
  job.train.shards = 4;
  job.train.batch = 8;
  job.train.epochs = 3;
  ScheduleConfig& rate = job.train.optimizer.learning_rate;
  rate.kind = ScheduleKind::step;
  rate.warm_up = 9;
  rate.every = 8;
  EXPECT_EQ(rate_notices(job, 96), Texts{});
  EXPECT_EQ(rate_notices(job, 0), Texts{}) << "nobody knows";
  rate.warm_up = 10;
  rate.every = 9;
  EXPECT_EQ(
      rate_notices(job, 96),
      (Texts{
          "train.optimizer.learning_rate.warm_up is 10 steps, and the training has 9: the learning rate "
          "never "
          "reaches its full value; choose fewer steps",
          "train.optimizer.learning_rate.every is 9 steps, and the training has 9: the learning rate never "
          "changes; choose fewer steps"}));
  job.train.epochs.reset();
  job.train.steps = 100;
  EXPECT_EQ(rate_notices(job, 0), Texts{});
}

TEST(Notices, PortsOfDataAreNotTheCoordinators) {
  Job job;
  EXPECT_FALSE(mistake_of_data_ports(job, 7100, {}));
  job.cluster.data_ports = "7100-7109";
  EXPECT_FALSE(mistake_of_data_ports(job, 7110, {}));
  EXPECT_FALSE(mistake_of_data_ports(job, 0, {})) << "the kernel chooses one";
  const auto wrong = mistake_of_data_ports(job, 7109, {});
  ASSERT_TRUE(wrong);
  EXPECT_NE(render(*wrong).find("holds the port of the coordinator; found \"7100-7109\" and port 7109"),
            std::string::npos)
      << render(*wrong);
}

TEST(Notices, AnEvaluationWithoutDataIsSaid) {
  const Places places{{"train.evaluate", {}}};
  EXPECT_EQ(idle_keys({}, places, true, false), Texts{});
  EXPECT_EQ(idle_keys({}, places, false, false),
            Texts{"train.evaluate has no effect: the source has no test data"});
}

}  // namespace
}  // namespace muster
