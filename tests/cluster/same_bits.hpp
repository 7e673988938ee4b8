// A run held against the plain loop: the same bits, and an exact ledger.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/plain_training.hpp"

namespace muster::cluster_test {

inline Arguments overrides(const std::vector<std::string>& sets) {
  Arguments arguments;
  for (const std::string& set : sets) {
    arguments.push_back("--set");
    arguments.push_back(set);
  }
  return arguments;
}

inline void expect_ledger(const Json& report, std::size_t epochs, std::uint64_t used, std::uint64_t dropped) {
  ASSERT_EQ(report["ledger"].size(), epochs);
  for (const Json& row : report["ledger"]) {
    EXPECT_EQ(row["complete"], true) << row;
    EXPECT_EQ(row["used"], used) << row;
    EXPECT_EQ(row["repeated"], 0) << row;
    EXPECT_EQ(row["missed"], 0) << row;
    EXPECT_EQ(row["dropped"], dropped) << row;
  }
}

/// Expects the bits of the plain loop from a run with these overrides and arguments; gives the report.
inline Json expect_plain_bits(const std::string& text, const std::vector<std::string>& sets,
                              const Arguments& more = {}, const Environment& environment = {}) {
  const Folder folder;
  const std::string file = folder.write("job.toml", text);
  const PlainResult plain = train_plainly(file, sets);
  Arguments arguments = overrides(sets);
  arguments.insert(arguments.end(), more.begin(), more.end());
  const RunResult run = run_job(file, folder, arguments, environment);
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.err;
  EXPECT_EQ(run.report["outcome"], "completed");
  EXPECT_EQ(run.report["weights_sha256"], plain.weights_sha256);
  EXPECT_EQ(run.report["steps"], plain.steps);
  EXPECT_EQ(run.report["samples"], plain.samples);
  return run.report;
}

/// Fashion-MNIST with a model, in an odd number of samples.
inline std::string fashion_job(const std::string& model) {
  const std::string folder = "/usr/share/datasets/fashion-mnist/";
  return "name = \"odd\"\nseed = 7\n[model]\nname = \"" + model +
         "\"\n[data]\nsource = \"idx\"\ntrain_images = \"" + folder +
         "train-images-idx3-ubyte.gz\"\ntrain_labels = \"" + folder +
         "train-labels-idx1-ubyte.gz\"\ntest_images = \"" + folder +
         "t10k-images-idx3-ubyte.gz\"\ntest_labels = \"" + folder +
         "t10k-labels-idx1-ubyte.gz\"\ntake = 1237\n[train]\nshards = 5\nbatch = 16\n[train.optimizer]\n"
         "learning_rate = 0.05\n[cluster]\nreplicas = 3\n";
}

}  // namespace muster::cluster_test
