#include "config/job_hash.hpp"

#include <gtest/gtest.h>

#include <set>

#include "config/schema/schema.hpp"
#include "tests/unit/config/sample_job.hpp"

namespace muster {
namespace {

Job sample_job(const sample::DataFile& file) {
  return *read_job_text(sample::job_text(file), "job.toml", {}, sample::declarations()).job;
}

std::string of(const Job& job) {
  return job_mathematics(job, sample::declarations());
}

Value changed(const Key& key, const Job& job) {
  switch (key.value.type) {
    case ValueType::boolean:
      return !std::get<bool>(key.get(job).value_or(Value(true)));
    case ValueType::number:
      return 0.625;
    case ValueType::choice:
      return key.get(job) == Value(key.value.choices.back()) ? key.value.choices.front()
                                                             : key.value.choices.back();
    case ValueType::texts:
      return std::vector<std::string>{"cpu:3"};
    case ValueType::interval:
      return std::string("77 steps");
    case ValueType::rate:
      return std::string("1 in 77 steps");
    case ValueType::progress:
      return std::string("77s");
    case ValueType::text:
    case ValueType::path:
      return std::string("changed");
    default:
      return std::int64_t{key.path == "data.threads" ? 1 : 77};
  }
}

TEST(JobHash, EveryKeyHasDecidedAndDoesWhatItSays) {
  const sample::DataFile file;
  std::set<std::string> counting;
  for (const Key& key : job_keys()) {
    ASSERT_NE(key.in_hash, InHash::undecided) << key.path;
    if (key.in_hash == InHash::yes) counting.insert(key.path);
    Job job = sample_job(file);
    if (!key.selector.empty()) find_key(key.selector)->set(job, key.selected_by.front());
    Job other = job;
    key.set(other, changed(key, job));
    ASSERT_NE(key.get(other), key.get(job)) << key.path;
    EXPECT_EQ(of(job) != of(other), key.in_hash == InHash::yes) << key.path;
  }
  for (const char* path : {"seed", "model.name", "data.source", "train.shards", "train.batch",
                           "train.remainder", "train.threads", "train.precision", "train.optimizer.name"}) {
    EXPECT_TRUE(counting.contains(path)) << path;
  }
  for (const char* path : {"name", "train.epochs", "train.steps", "data.repeat", "cluster.replicas",
                           "cluster.listen", "checkpoint.folder"}) {
    EXPECT_FALSE(counting.contains(path)) << path;
  }
}

TEST(JobHash, OptionsCountButNotTheNamesOfFiles) {
  const sample::DataFile file;
  const Job job = sample_job(file);
  Job other = job;
  other.model.options["dropout"] = 0.5;
  EXPECT_NE(of(job), of(other));
  other = job;
  other.data.options["train_images"] = std::string("elsewhere");
  EXPECT_EQ(of(job), of(other));
}

TEST(JobHash, ADefaultIsTheSameWrittenOrNot) {
  const sample::DataFile file;
  const Job job = sample_job(file);
  Job other = job;
  other.model.options.erase("layers");
  EXPECT_EQ(of(job), of(other));
  EXPECT_EQ(of(*read_job_text(to_toml(job), "again", {}, sample::declarations()).job), of(job));
}

}  // namespace
}  // namespace muster
