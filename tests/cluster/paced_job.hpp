// A job for muster_paced: samples come slowly until the file that the test names as data.gate is there. So a
// run lasts as long as the test needs. An epoch has six steps.
#pragma once

#include <string>

#include "tests/cluster/muster_process.hpp"

namespace muster::cluster_test {

struct PacedJob {
  std::string model = "linear";
  int epochs = 40;
  std::string optimizer = "sgd";
  std::string checkpoint_every = "5 steps";
};

inline std::string paced_job(const PacedJob& job) {
  return R"(name = "paced"
seed = 7
[model]
name = ")" +
         job.model + R"("
inputs = 64
outputs = 1
[data]
source = "paced"
samples = 60
[train]
shards = 5
batch = 2
evaluate = false
audit = "1 in 2 steps"
epochs = )" +
         std::to_string(job.epochs) + R"(
[train.optimizer]
learning_rate = 0.01
name = ")" +
         job.optimizer + R"("
[checkpoint]
keep = 100
every = ")" +
         job.checkpoint_every + "\"\n";
}

/// What such a job needs of a folder.
inline Arguments paced_sets(const Folder& folder) {
  return {"--set", "data.gate=" + folder.path("gate"), "--set", "checkpoint.folder=" + folder.path("kept")};
}

}  // namespace muster::cluster_test
