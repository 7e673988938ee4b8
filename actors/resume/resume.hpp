// Going on from a checkpoint: which one, and what a run that does must know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "muster/error.hpp"
#include "muster/job.hpp"
#include "muster/registry.hpp"

namespace muster {

/// What a coordinator tells of a run that goes on.
struct Resume {
  std::string manifest;  ///< its name in checkpoint.folder; empty: the run begins at the beginning
  std::string path;      ///< of the weights
  std::uint64_t records = 0;
  std::uint64_t step = 0;
  std::uint64_t epoch = 1;
  std::uint64_t samples = 0;
  std::vector<EpochEnd> epochs;  ///< told so far
  std::vector<PassedOver> passed_over;
  std::string weights_sha256 = {};
};

/// Looks for the newest whole checkpoint of this job that lies on its way; builds the model and opens the
/// data to compare. Blocks. Throws NothingToResume, DiskError, or what making the model and the source throw.
Resume find_resume(const Job& job, const Registry& registry, std::shared_ptr<Disk> disk);

/// Those that were passed over, and why: a line for each, with a newline before it.
std::string list_of(const std::vector<PassedOver>& passed_over);
/// Throws NothingToResume if a disk refuses one of them now: it may be the best.
void expect_all_read(const std::vector<PassedOver>& passed_over);

/// Reads the checkpoint that the coordinator chose. Blocks. Throws Error.
std::shared_ptr<const Snapshot> load_resume(const TrainerState& trainer, const std::string& job_hash,
                                            std::shared_ptr<Disk> disk, const std::string& manifest);

}  // namespace muster
