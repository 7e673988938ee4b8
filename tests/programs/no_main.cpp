// An embedding program that forgets to call muster::main, whose replicas would each start a run of its own.
#include <cstdio>

#include "muster/run.hpp"

int main() {
  muster::Job job;
  job.model.name = "empty";
  job.data.source = "synthetic";
  job.cluster.replicas = 2;
  job.train.shards = 2;
  try {
    muster::run(job, {});
  } catch (const muster::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
