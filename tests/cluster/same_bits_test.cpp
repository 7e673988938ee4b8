// One job, any hardware: the same bits, those of a plain loop; and an exact ledger.
#include <gtest/gtest.h>

#include "tests/cluster/same_bits.hpp"

namespace muster::same_bits_test {
namespace {

using namespace muster::cluster_test;

class SameBits : public ::testing::TestWithParam<int> {};

TEST_P(SameBits, OnAnyNumberOfReplicas) {
  const Json report = expect_plain_bits(linear_job(), {}, {"--replicas", std::to_string(GetParam())});
  EXPECT_EQ(report["replicas"], GetParam());
  EXPECT_EQ(report["shards"], 5);
  EXPECT_EQ(report["evaluation"].size(), 2u);
  EXPECT_EQ(report["phases"].size(), static_cast<std::size_t>(GetParam()));
  expect_ledger(report, 2, 1237, 0);
}

INSTANTIATE_TEST_SUITE_P(Replicas, SameBits, ::testing::Values(1, 2, 3, 4, 5));

TEST(SameBitsWith, LoaderProcess) {
  expect_ledger(expect_plain_bits(linear_job(), {"cluster.loaders=1"}, {"--replicas", "3"}), 2, 1237, 0);
}

TEST(SameBitsWith, TwoLoaderProcesses) {
  expect_ledger(expect_plain_bits(linear_job(), {"cluster.loaders=2"}, {"--replicas", "3"}), 2, 1237, 0);
}

TEST(SameBitsWith, TcpAlone) {
  const Json report = expect_plain_bits(linear_job(), {}, {"--replicas", "3"}, {{"UCX_TLS", "tcp"}});
  EXPECT_NE(report["transport"].get<std::string>().find("tcp"), std::string::npos) << report["transport"];
  EXPECT_EQ(report["transport"].get<std::string>().find("sysv"), std::string::npos) << report["transport"];
}

TEST(SameBitsWith, TcpAndLoaderProcess) {
  expect_plain_bits(linear_job(), {"cluster.loaders=1"}, {"--replicas", "2"}, {{"UCX_TLS", "tcp"}});
}

TEST(SameBitsWith, ReplicasInOneProcess) {
  for (const char* replicas : {"1", "3"}) {
    expect_ledger(expect_plain_bits(linear_job(), {}, {"--in-process", "--replicas", replicas}), 2, 1237, 0);
  }
}

TEST(SameBitsWith, LoaderInOneProcess) {
  expect_plain_bits(linear_job(), {"cluster.loaders=1"}, {"--in-process", "--replicas", "2"});
}

TEST(SameBitsWith, OneMicroBatchAhead) {
  expect_plain_bits(linear_job(), {"data.prefetch=1"}, {"--replicas", "3"});
}

TEST(SameBitsWith, RemainderDropped) {
  const Json report = expect_plain_bits(linear_job(), {"train.remainder=drop"}, {"--replicas", "3"});
  expect_ledger(report, 2, 15 * 80, 1237 - 15 * 80);  // 15 full steps of 5 x 16
}

TEST(SameBitsWith, RemainderPadded) {
  expect_ledger(expect_plain_bits(linear_job(), {"train.remainder=pad"}, {"--replicas", "3"}), 2, 1237, 0);
}

TEST(SameBitsWith, PaddingOrNot) {
  const Folder folder;
  const std::string file = folder.write("job.toml", linear_job());
  EXPECT_EQ(train_plainly(file, {}).weights_sha256,
            train_plainly(file, {"train.remainder=pad"}).weights_sha256);
}

TEST(SameBitsWith, Momentum) {
  expect_plain_bits(
      linear_job(),
      {"train.optimizer.momentum=0.9", "train.optimizer.nesterov=true", "train.optimizer.weight_decay=0.01"},
      {"--replicas", "3"});
}

TEST(SameBitsWith, Adam) {
  expect_plain_bits(linear_job(), {"train.optimizer.name=adam", "train.optimizer.weight_decay=0.01"},
                    {"--replicas", "2"});
}

TEST(SameBitsWith, AdamWOnACosine) {
  expect_plain_bits(
      linear_job(),
      {"train.optimizer.name=adamw",
       R"(train.optimizer.learning_rate={initial=0.02, schedule="cosine", steps=30, warm_up=5})"},
      {"--replicas", "3"});
}

TEST(SameBitsWith, AWireOf16Bits) {
  const std::string plain = expect_plain_bits(linear_job(), {})["weights_sha256"];
  for (const char* replicas : {"1", "3"}) {
    for (const char* wire : {"train.wire=bfloat16", "train.wire=float16"}) {
      const Json report = expect_plain_bits(linear_job(), {wire}, {"--replicas", replicas});
      EXPECT_NE(report["weights_sha256"], plain) << "nothing was rounded";
    }
    expect_plain_bits(linear_job(), {"train.wire=float16", "train.wire_exponent=8"},
                      {"--replicas", replicas});
  }
}

// At this bound some steps are clipped, and some are not.
TEST(SameBitsWith, ClippedGradients) {
  const std::string plain = expect_plain_bits(linear_job(), {})["weights_sha256"];
  for (const char* replicas : {"1", "2", "3"}) {
    const Json all = expect_plain_bits(linear_job(), {"train.clip_norm=0.01"}, {"--replicas", replicas});
    const Json some = expect_plain_bits(linear_job(), {"train.clip_norm=1.0"}, {"--replicas", replicas});
    EXPECT_NE(some["weights_sha256"], plain) << "nothing was clipped";
    EXPECT_NE(some["weights_sha256"], all["weights_sha256"]);
  }
  expect_plain_bits(linear_job(), {"train.clip_norm=0.5", "train.wire=bfloat16", "train.optimizer.name=adam"},
                    {"--replicas", "3"});
}

TEST(SameBitsWith, NoShuffle) {
  expect_plain_bits(linear_job(), {"data.shuffle=false"}, {"--replicas", "2"});
}

TEST(SameBitsWith, SkipAndTake) {
  const Json report =
      expect_plain_bits(linear_job(), {"data.skip=100", "data.take=333"}, {"--replicas", "3"});
  expect_ledger(report, 2, 333, 0);
}

TEST(SameBitsWith, FewerSamplesThanShards) {
  expect_ledger(expect_plain_bits(linear_job(), {"data.take=3"}, {"--replicas", "5"}), 2, 3, 0);
}

std::string stepping_job(const std::string& steps) {
  std::string text = linear_job();
  return text.replace(text.find("epochs = 2"), 10, steps);
}

// 16 steps an epoch: two whole epochs, and a third that ends after 5 of its steps.
TEST(SameBitsWith, StepsThatEndInTheMiddleOfAnEpoch) {
  const Json report =
      expect_plain_bits(stepping_job("steps = 37"), {"data.repeat=forever"}, {"--replicas", "3"});
  EXPECT_EQ(report["steps"], 37);
  ASSERT_EQ(report["ledger"].size(), 3u);
  const Json& last = report["ledger"][2];
  EXPECT_EQ(last["complete"], false);
  EXPECT_EQ(last["used"], 5 * 80);
  EXPECT_EQ(last["missed"], 0) << "what an epoch that was cut short did not reach is not missed";
}

TEST(SameBitsWith, StepsThatEndWithAnEpoch) {
  const Json report = expect_plain_bits(stepping_job("steps = 32"), {"data.repeat=2"}, {"--replicas", "2"});
  expect_ledger(report, 2, 1237, 0);
  EXPECT_FALSE(report["event_counts"].contains("exhausted") &&
               report["events"].dump().find("\"job\",\"what\"") != std::string::npos);
}

#ifdef MUSTER_WITH_TORCH
TEST(SameBitsWith, FashionImagesAndAPerceptron) {
  const Json report = expect_plain_bits(fashion_job("mlp"), {});
  expect_ledger(report, 1, 1237, 0);
  EXPECT_GT(report["evaluation"][0]["accuracy"], 0.2);
}

TEST(SameBitsWith, BucketsThatGoOutDuringTheBackwardPass) {
  const Json report = expect_plain_bits(fashion_job("fashion_cnn"),
                                        {"train.evaluate=false", "data.take=480", "reduce.bucket=64KiB"});
  for (const Json& phases : report["phases"]) {
    EXPECT_GT(phases["reduce_hidden_s"], 0.0) << phases;
    EXPECT_LT(phases["reduce_hidden_s"], phases["compute_s"]) << phases;
  }
}

TEST(SameBitsWith, FashionImagesAndAConvolutionalNetwork) {
  for (const char* loaders : {"cluster.loaders=0", "cluster.loaders=1"}) {
    expect_ledger(expect_plain_bits(fashion_job("fashion_cnn"), {"train.evaluate=false", loaders}), 1, 1237,
                  0);
  }
}
#endif

}  // namespace
}  // namespace muster::same_bits_test
