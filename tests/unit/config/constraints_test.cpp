#include <gtest/gtest.h>

#include "muster/job_file.hpp"
#include "tests/unit/config/sample_job.hpp"

namespace muster {
namespace {

using sample::DataFile;
using sample::job_text;
using sample::replaced;

class JobRules : public ::testing::Test {
 protected:
  std::string mistakes(const std::string& from, const std::string& to) const {
    const std::string text = replaced(job_text(file_), from, to);
    return render(read_job_text(text, "job.toml", {}, sample::declarations()).mistakes);
  }

  /// With the optimizer's table replaced.
  std::string optimizer(const std::string& lines) const {
    return mistakes("name = \"sgd\"\nlearning_rate = 0.05", lines);
  }

  DataFile file_;
};

TEST_F(JobRules, EpochsExcludeStepsAndRepeat) {
  EXPECT_EQ(mistakes("epochs = 2", "epochs = 2\nsteps = 9"),
            "job.toml:15:9: train.steps: incompatible with train.epochs; found train.epochs = 2 and "
            "train.steps = 9; "
            "allowed: one of the two\n");
  EXPECT_EQ(
      mistakes("shuffle = true", "repeat = \"forever\""),
      "job.toml:9:10: data.repeat: incompatible with train.epochs; found train.epochs = 2 and data.repeat = "
      "\"forever\"; allowed: train.epochs alone, or data.repeat with train.steps\n");
}

TEST_F(JobRules, RepeatServesSteps) {
  const std::string text =
      replaced(replaced(job_text(file_), "epochs = 2", ""), "shuffle = true", "repeat = 2");
  EXPECT_EQ(
      render(read_job_text(text, "job.toml", {}, sample::declarations()).mistakes),
      "job.toml:9:10: data.repeat: serves train.steps, which is not given; found data.repeat = 2; allowed: "
      "train.steps beside it, or train.epochs alone\n");
}

TEST_F(JobRules, MoreReplicasThanShardsAreRefused) {
  EXPECT_EQ(mistakes("replicas = 2", "replicas = 9"),
            "job.toml:20:12: cluster.replicas: more replicas than shards, some would idle; found 9; allowed: "
            "at most "
            "train.shards = 8; did you mean 8?\n");
}

TEST_F(JobRules, NoRunWaitsForMoreReplicasThanItBeginsWith) {
  EXPECT_EQ(mistakes("replicas = 2", "replicas = 2\nmin_replicas = 2"), "");
  EXPECT_EQ(mistakes("replicas = 2", "replicas = 2\nmin_replicas = 3"),
            "job.toml:21:16: cluster.min_replicas: more than the run begins with; found 3; allowed: at most "
            "cluster.replicas = 2; did you mean 2?\n");
}

TEST_F(JobRules, ANameIsShortEnoughForNamesOfFiles) {
  const std::string name(101, 'n');
  const std::string said = mistakes("name = \"", "name = \"" + name);
  EXPECT_NE(said.find("name: too long for names of files"), std::string::npos) << said;
}

TEST_F(JobRules, DevicesAreDistinctAndOneForEachReplica) {
  EXPECT_EQ(mistakes("[cluster]", "[cluster]\ndevices = [\"cpu:0\", \"cpu:0\"]"),
            "job.toml:20:21: cluster.devices[1]: a device listed twice; found \"cpu:0\", also at "
            "cluster.devices[0]; "
            "allowed: each device once, or cluster.share_devices = true\n");
  EXPECT_EQ(
      mistakes("[cluster]", "[cluster]\ndevices = [\"cpu:0\"]"),
      "job.toml:20:11: cluster.devices: not one device for each replica; found 1 device; allowed: exactly "
      "cluster.replicas = 2, or no cluster.devices\n");
  EXPECT_EQ(mistakes("[cluster]", "[cluster]\ndevices = [\"cpu:0\", \"cdua:0\"]"),
            "job.toml:20:21: cluster.devices[1]: not a device; found \"cdua:0\"; allowed: \"cpu:K\" or "
            "\"cuda:K\", K "
            "counting from 0; did you mean \"cuda:0\"?\n");
  for (const char* wrong :
       {"cpu:01", "cpu:-1", "cpu:", "cpu", "CPU:0", "cpu:+1", "cpu: 1", "cpu:99999999999"}) {
    const std::string text = "[cluster]\ndevices = [\"cpu:0\", \"" + std::string(wrong) + "\"]";
    EXPECT_NE(mistakes("[cluster]", text).find("not a device; found"), std::string::npos) << wrong;
  }
}

TEST_F(JobRules, OptionsBelongToTheirOptimizer) {
  EXPECT_EQ(optimizer("name = \"adam\"\nmomentum = 0.9"),
            "job.toml:18:12: train.optimizer.momentum: belongs to name \"sgd\"; found train.optimizer.name = "
            "\"adam\"; "
            "allowed: with \"adam\": beta1, beta2 or epsilon\n");
  EXPECT_EQ(optimizer("name = \"sgd\"\nbeta1 = 0.9"),
            "job.toml:18:9: train.optimizer.beta1: belongs to name \"adam\" or \"adamw\"; found "
            "train.optimizer.name = "
            "\"sgd\"; allowed: with \"sgd\": momentum or nesterov\n");
  EXPECT_EQ(optimizer("name = \"adamw\"\nbeta1 = 0.8\nweight_decay = 0.1"), "");
}

TEST_F(JobRules, OptionsBelongToTheirSchedule) {
  EXPECT_EQ(
      optimizer("learning_rate = { schedule = \"cosine\", steps = 9, every = 3 }"),
      "job.toml:17:59: train.optimizer.learning_rate.every: belongs to schedule \"step\"; found "
      "train.optimizer.learning_rate.schedule = \"cosine\"; allowed: with \"cosine\": steps or final\n");
  EXPECT_EQ(
      optimizer("learning_rate = { initial = 0.1, factor = 0.5 }"),
      "job.toml:17:43: train.optimizer.learning_rate.factor: belongs to schedule \"step\"; found "
      "train.optimizer.learning_rate.schedule = \"constant\"; allowed: none of its kind with \"constant\"\n");
}

TEST_F(JobRules, SchedulesNeedTheirOptions) {
  EXPECT_EQ(optimizer("learning_rate = { schedule = \"step\" }"),
            "job.toml:17:1: train.optimizer.learning_rate.every: missing, schedule \"step\" needs it; "
            "allowed: an integer "
            "of at least 1\n");
  EXPECT_EQ(optimizer("learning_rate = { schedule = \"cosine\" }"),
            "job.toml:17:1: train.optimizer.learning_rate.steps: missing, schedule \"cosine\" needs it; "
            "allowed: an "
            "integer of at least 1\n");
  EXPECT_EQ(optimizer("learning_rate = { schedule = \"warm-up\" }"),
            "job.toml:17:1: train.optimizer.learning_rate.warm_up: missing, schedule \"warm-up\" needs it; "
            "allowed: an "
            "integer of at least 1\n");
  EXPECT_EQ(optimizer("learning_rate = { schedule = \"cosine\", steps = 5, warm_up = 5 }"),
            "job.toml:17:61: train.optimizer.learning_rate.warm_up: leaves no steps for the cosine; found 5; "
            "allowed: "
            "less than steps = 5\n");
}

TEST_F(JobRules, NesterovNeedsMomentum) {
  EXPECT_EQ(optimizer("nesterov = true"),
            "job.toml:17:12: train.optimizer.nesterov: needs momentum; found train.optimizer.momentum = 0.0; "
            "allowed: "
            "train.optimizer.momentum above 0\n");
  EXPECT_EQ(optimizer("nesterov = true\nmomentum = 0.9"), "");
}

TEST_F(JobRules, AShardedOptimizerNeedsOwners) {
  const std::string text =
      replaced(job_text(file_), "remainder = \"keep\"", "shard_optimizer = true") + "[reduce]\n";
  const auto found = [&](const std::string& algorithm) {
    return render(
        read_job_text(text + "algorithm = \"" + algorithm + "\"\n", "job.toml", {}, sample::declarations())
            .mistakes);
  };
  EXPECT_NE(found("one_shot")
                .find("reduce.algorithm: incompatible with train.shard_optimizer; found "
                      "train.shard_optimizer = true and reduce.algorithm = \"one_shot\"; allowed: \"auto\" "
                      "or another one"),
            std::string::npos)
      << found("one_shot");
  EXPECT_EQ(found("hierarchical"), "");
}

TEST_F(JobRules, ClippingNeedsTheWholeGradient) {
  EXPECT_EQ(mistakes("remainder = \"keep\"", "clip_norm = 0.5"), "");
  EXPECT_EQ(mistakes("remainder = \"keep\"", "clip_norm = 0.0"),
            "job.toml:15:13: train.clip_norm: out of range; found 0.0; allowed: a number above 0\n");
  const std::string both = mistakes("remainder = \"keep\"", "clip_norm = 0.5\nshard_optimizer = true");
  EXPECT_NE(both.find("train.clip_norm: incompatible with train.shard_optimizer; found train.shard_optimizer "
                      "= true and train.clip_norm = 0.5; allowed: one of "
                      "the two"),
            std::string::npos)
      << both;
}

TEST_F(JobRules, CompressionExcludesWhatCannotHaveTheStatesOfShards) {
  const std::string text = replaced(job_text(file_), "remainder = \"keep\"",
                                    "compression = {name = \"powersgd\"}\nshard_optimizer = true") +
                           "[cluster.straggler]\naction = \"speculate\"\n";
  const std::string found = render(read_job_text(text, "job.toml", {}, sample::declarations()).mistakes);
  EXPECT_NE(found.find("train.shard_optimizer: incompatible with train.compression"), std::string::npos)
      << found;
  EXPECT_NE(found.find("cluster.straggler.action: incompatible with train.compression"), std::string::npos)
      << found;
  const std::string ratio =
      mistakes("remainder = \"keep\"", "compression = {name = \"powersgd\", ratio = 0.5}");
  EXPECT_NE(ratio.find("train.compression.ratio: belongs to name \"top-k\""), std::string::npos) << ratio;
}

TEST_F(JobRules, PatienceCoversThreeHeartbeats) {
  EXPECT_EQ(mistakes("\"10s\"", "\"299ms\""),
            "job.toml:24:12: cluster.detect.patience: too short for the heartbeat; found \"299ms\"; allowed: "
            "at least 3 "
            "times cluster.detect.heartbeat = \"100ms\"\n");
  EXPECT_EQ(mistakes("\"10s\"", "\"300ms\""), "");
}

TEST_F(JobRules, OneSlipGivesOneMessage) {
  // Neither the shards' default nor the misspelled schedule leads to further messages.
  EXPECT_EQ(mistakes("shards = 8", "shards = 0"),
            "job.toml:12:10: train.shards: out of range; found 0; allowed: an integer from 1 to 65536\n");
  EXPECT_EQ(optimizer("learning_rate = { schedul = \"cosine\", steps = 9 }"),
            "job.toml:17:19: train.optimizer.learning_rate.schedul: unknown key; did you mean "
            "train.optimizer.learning_rate.schedule?\n");
}

class BuiltJob : public ::testing::Test {
 protected:
  BuiltJob() {
    job_.model.name = "mlp";
    job_.data.source = "idx";
    job_.data.options["train_images"] = file_.path();
  }

  std::string mistakes() const { return render(check_job(job_, {}, sample::declarations())); }

  DataFile file_;
  Job job_;
};

TEST_F(BuiltJob, GoodOnesPassAndGetTheirDefaults) {
  EXPECT_EQ(mistakes(), "");
  const Job job = with_defaults(job_, sample::declarations());
  EXPECT_EQ(option<double>(job.model.options, "dropout"), 0.0);
  EXPECT_EQ(job.train.epochs, 1u);
  EXPECT_EQ(render(check_job(job, {}, sample::declarations())), "");
}

TEST_F(BuiltJob, IsCheckedByTheSameRules) {
  job_.train.shards = 0;
  job_.train.batch = 0;
  job_.train.optimizer.kind = OptimizerKind::adam;
  job_.train.optimizer.momentum = 0.9;
  EXPECT_EQ(mistakes(),
            "train.shards: out of range; found 0; allowed: an integer from 1 to 65536\n"
            "train.batch: out of range; found 0; allowed: an integer from 1 to 16777216\n"
            "train.optimizer.momentum: belongs to name \"sgd\"; found train.optimizer.name = \"adam\"; "
            "allowed: with "
            "\"adam\": beta1, beta2 or epsilon\n");
}

TEST_F(BuiltJob, OptionsAreChecked) {
  job_.model.options = {{"dropout", 0.95}, {"layers", std::string("two")}, {"hiden", std::int64_t{1}}};
  job_.data.options.clear();
  EXPECT_EQ(mistakes(),
            "model.dropout: out of range; found 0.95; allowed: a number from 0 to 0.9\n"
            "model.hiden: unknown key; did you mean model.hidden?\n"
            "model.layers: wrong type; found \"two\"; allowed: an integer from 1 to 8\n"
            "data.train_images: missing; allowed: the path of a file that can be read\n");
}

TEST_F(BuiltJob, ValuesThatNoFileCanHold) {
  job_.seed = ~0ull;
  job_.train.remainder = static_cast<Remainder>(9);
  job_.cluster.detect.heartbeat = std::chrono::milliseconds(-5);
  job_.train.optimizer.epsilon = 0;  // of adam, which is not chosen: then it belongs elsewhere
  const std::string text = mistakes();
  EXPECT_NE(text.find("seed: out of range; found 18446744073709551616.0"), std::string::npos) << text;
  EXPECT_NE(text.find("train.remainder: unknown value; found \"?\""), std::string::npos) << text;
  EXPECT_NE(text.find("cluster.detect.heartbeat: out of range; found -5"), std::string::npos) << text;
  EXPECT_NE(text.find("train.optimizer.epsilon: belongs to name"), std::string::npos) << text;
}

}  // namespace
}  // namespace muster
