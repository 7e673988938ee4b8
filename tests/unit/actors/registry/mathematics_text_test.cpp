#include "actors/registry/mathematics_text.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::string kHere =
    "muster mathematics 1\nseed = 7\ntrain.batch = 16\ntrain.optimizer.learning_rate.initial = 0.01\n";

TEST(MathematicsText, DiffersInWhatIsNotTheSame) {
  const std::string there =
      "muster mathematics 1\nseed = 7\ntrain.batch = 8\ntrain.optimizer.momentum = 0.9\n"
      "train.optimizer.learning_rate.initial = 0.01\n";
  const std::vector<Difference> expected{{"train.batch", "8", "16"},
                                         {"train.optimizer.momentum", "0.9", "not given"}};
  EXPECT_EQ(differences(there, kHere), expected);
  EXPECT_TRUE(differences(kHere, kHere).empty());
}

TEST(MathematicsText, ValuesMayHoldAnything) {
  const std::vector<Difference> expected{{"model.x", "a = b", "c"}};
  EXPECT_EQ(differences("model option x = a = b\n", "model option x = c\n"), expected);
}

TEST(MathematicsText, OnlyWhatLeavesTheStateItsMeaningMayChange) {
  for (const char* key : {"train.optimizer.learning_rate.initial", "train.optimizer.learning_rate.schedule",
                          "train.optimizer.weight_decay", "train.clip_norm", "train.threads"})
    EXPECT_TRUE(may_change(key)) << key;
  for (const char* key :
       {"seed", "train.shards", "train.batch", "train.remainder", "train.optimizer.name",
        "train.compression.name", "data.source", "model.name", "model content", "start content"})
    EXPECT_FALSE(may_change(key)) << key;
}

TEST(MathematicsText, OneNameGoesForTheKeysOfATable) {
  EXPECT_EQ(accepted_as("train.optimizer.learning_rate.initial"), "train.optimizer.learning_rate");
  EXPECT_EQ(accepted_as("train.wire_exponent"), "train.wire");
  EXPECT_EQ(accepted_as("train.clip_norm"), "train.clip_norm");
}

}  // namespace
}  // namespace muster
