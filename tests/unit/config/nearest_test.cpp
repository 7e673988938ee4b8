#include "base/nearest.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Nearest, DistanceCountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("bathc", "batch"), 1u);  // a swap of neighbors is one edit
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);       // no part is edited twice: the restricted form
  EXPECT_EQ(edit_distance("abc", "abc"), 0u);
}

TEST(Nearest, DistanceIsSymmetric) {
  const std::vector<std::string> words = {"", "a", "adam", "adma", "adamw", "momentum", "cuda:10", "cpu:1"};
  for (const std::string& a : words) {
    for (const std::string& b : words) {
      EXPECT_EQ(edit_distance(a, b), edit_distance(b, a)) << a << ' ' << b;
    }
  }
}

TEST(Nearest, LongWordsAreNearToNothing) {
  EXPECT_EQ(nearest(std::string(100000, 'a'), {"adam"}), "");
  EXPECT_EQ(closest(std::string(100000, 'a'), {"adam"}), "adam");
}

TEST(Nearest, SlipsAreFoundAndStrangersAreNot) {
  EXPECT_EQ(nearest("adma", {"sgd", "adam", "adamw"}), "adam");
  EXPECT_EQ(nearest("SGD", {"sgd", "adam"}), "sgd");
  EXPECT_EQ(nearest("rmsprop", {"sgd", "adam"}), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(closest("cuda:10", {"cpu:0", "cpu:1"}), "cpu:0");
  EXPECT_EQ(closest("cpu:10", {"cpu:0", "cpu:1"}), "cpu:0");
  EXPECT_EQ(closest("x", {}), "");
}

TEST(Nearest, PathsPreferTheirTable) {
  const std::vector<std::string> paths = {"name",         "model.name",       "train.batch",
                                          "train.shards", "cluster.replicas", "train.optimizer.name"};
  EXPECT_EQ(nearest_path("train.bathc", paths), "train.batch");
  EXPECT_EQ(nearest_path("trian.batch", paths), "train.batch");
  EXPECT_EQ(nearest_path("model.nam", paths), "model.name");
  EXPECT_EQ(nearest_path("train.replicas", paths), "cluster.replicas");
  EXPECT_EQ(nearest_path("train.optimizer.foo", paths), "");
}

}  // namespace
}  // namespace muster
