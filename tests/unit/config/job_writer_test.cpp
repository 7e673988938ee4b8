#include <gtest/gtest.h>

#include <random>

#include "config/schema/schema.hpp"
#include "muster/job_file.hpp"
#include "tests/unit/config/sample_job.hpp"

namespace muster {
namespace {

using sample::DataFile;
using sample::job_text;

class JobRoundTrip : public ::testing::Test {
 protected:
  void expect_same(const Job& job) const {
    const std::string text = to_toml(job);
    const ParsedJob parsed = read_job_text(text, "written.toml", {}, sample::declarations());
    ASSERT_TRUE(parsed.job) << render(parsed.mistakes) << text;
    EXPECT_EQ(*parsed.job, job) << text;
    EXPECT_EQ(to_toml(*parsed.job), text);
  }

  Job read(const std::vector<std::string>& sets) const {
    ParsedJob parsed = read_job_text(job_text(file_), "job.toml", sets, sample::declarations());
    EXPECT_TRUE(parsed.job) << render(parsed.mistakes);
    return parsed.job.value_or(Job{});
  }

  DataFile file_;
};

TEST_F(JobRoundTrip, TheSampleAndItsVariants) {
  expect_same(read({}));
  expect_same(read({"name=with \"quotes\", \\ and\nlines \x01"}));
  expect_same(read({"train.optimizer.name=adamw", "train.optimizer.weight_decay=0.1"}));
  expect_same(read({"train.optimizer.momentum=0.9", "train.optimizer.nesterov=true"}));
  expect_same(read({"train.optimizer.learning_rate={schedule=\"step\",every=3,initial=1e-300}"}));
  expect_same(read({"train.optimizer.learning_rate={schedule=\"cosine\",steps=9,warm_up=2,final=0.1}"}));
  expect_same(read({"train.optimizer.learning_rate={schedule=\"warm-up\",warm_up=2}"}));
  expect_same(read({"cluster.devices=[\"cpu:1\",\"cuda:0\"]", "cluster.loaders=1"}));
  expect_same(read({"model.hidden=[]", "model.bias=false", "model.dropout=0.1234567890123456789"}));
  expect_same(read({"seed=9223372036854775807", "data.skip=1", "data.take=1237", "data.memory=1001B"}));
}

TEST_F(JobRoundTrip, RepeatedPasses) {
  Job job = read({});
  job.train.epochs.reset();
  job.train.steps = 10;
  for (const std::uint64_t repeat : {0u, 1u, 7u}) {
    job.data.repeat = repeat;
    expect_same(job);
  }
}

TEST_F(JobRoundTrip, TheFileIsCompleteAndReadable) {
  const std::string text = to_toml(read({}));
  EXPECT_NE(text.find("learning_rate = 0.05\n"), std::string::npos) << text;
  EXPECT_NE(text.find("memory = \"64MiB\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("hidden = [100, 10]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("dropout = 0.0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("start_patience = \"1min\"\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("beta1"), std::string::npos) << text;
}

// Random valid jobs, drawn through the schema.
TEST_F(JobRoundTrip, RandomJobs) {
  std::mt19937_64 random(20240501);
  for (int round = 0; round < 300; ++round) {
    Job job = read({});
    for (const Key& key : job_keys()) {
      const ValueType type = key.value.type;
      const bool related = key.path == "data.repeat" || key.path == "train.steps" ||
                           key.path == "train.shards" || key.path.ends_with("replicas") ||
                           key.path.find("detect") != std::string::npos || !key.selector.empty() ||
                           key.path.find("learning_rate") != std::string::npos;
      if (related || random() % 2 == 0) {
        continue;
      }
      if (type == ValueType::boolean) {
        key.set(job, random() % 2 == 0);
      } else if (type == ValueType::number) {
        key.set(job, static_cast<double>(random() >> 11) * 0x1p-53 + 1e-9);
      } else if (type == ValueType::integer || type == ValueType::size || type == ValueType::duration) {
        const double most = std::min(key.value.most.value_or(1e18), 1e18);
        key.set(job, static_cast<std::int64_t>(1 + random() % static_cast<std::uint64_t>(most)));
      } else if (type == ValueType::interval) {
        key.set(job, std::to_string(2 + random() % 1000) + (random() % 2 == 0 ? " steps" : " epochs"));
      } else if (type == ValueType::rate) {
        key.set(job, random() % 4 == 0 ? std::string("off")
                                       : "1 in " + std::to_string(1 + random() % 1000) + " steps");
      } else if (type == ValueType::progress) {
        key.set(job, std::to_string(1 + random() % 1000) + (random() % 2 == 0 ? " steps" : "s"));
      } else if (type == ValueType::choice) {
        key.set(job, key.value.choices[random() % key.value.choices.size()]);
      }
    }
    if (job.train.shards_have_state()) {  // what is incompatible with compression
      job.train.shard_optimizer = false;
      job.cluster.straggler.action = StragglerAction::shed;
    }
    if (job.train.shard_optimizer) job.train.clip_norm.reset();
    if (job.train.shard_optimizer && job.reduce.algorithm == ReduceAlgorithm::one_shot)
      job.reduce.algorithm = ReduceAlgorithm::hierarchical;
    expect_same(job);
  }
}

TEST_F(JobRoundTrip, Compression) {
  expect_same(read({"train.compression.name=top-k", "train.compression.ratio=0.25"}));
  expect_same(read({"train.compression.name=powersgd", "train.compression.rank=2",
                    "train.compression.second_copy=any_host"}));
}

}  // namespace
}  // namespace muster
