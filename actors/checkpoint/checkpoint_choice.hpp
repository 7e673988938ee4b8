// Which of the checkpoints in a folder a job may go on from.
#pragma once

#include <functional>
#include <string>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "muster/job.hpp"

namespace muster {

/// The newest whole checkpoint in the store that lies on the job's schedule, and against which
/// `refuse`, if given, has no reason. `has_test`: whether the data have a test split. Blocks. Throws
/// DiskError.
FoundCheckpoint newest_on_its_way(CheckpointStore& store, const Job& job, bool has_test,
                                  const std::function<std::string(const Snapshot&)>& refuse = nullptr);

}  // namespace muster
