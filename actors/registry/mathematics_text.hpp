// What fixes the mathematics of a run, kept as a text beside its checkpoints.
//
// A job hash says that something differs, not what. So each run leaves what it is the hash of as a text
// in checkpoint.folder, `mathematics-<12 digits of the job hash>.txt`, and a later one compares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/disk.hpp"
#include "muster/job.hpp"
#include "muster/options.hpp"

namespace muster {

struct Difference {
  std::string key;    ///< "train.optimizer.learning_rate"
  std::string there;  ///< as it was; "not given" where that job had none
  std::string here;

  bool operator==(const Difference&) const = default;
};

/// Of two texts as mathematics_of gives them, in the order of their keys.
std::vector<Difference> differences(const std::string& there, const std::string& here);

/// Whether a run may go on with another value of this key: what is learned and where the run stands keep
/// their meaning. So it is with rates, decay, clipping and threads; not with shards, batches, data or the
/// model.
bool may_change(const std::string& key);

/// What `--accept` calls this key: one name goes for a table of them.
std::string accepted_as(const std::string& key);

/// Leaves the text, unless it is there. Blocks. What the disk refuses is left out.
void keep_mathematics(Disk& disk, const Job& job, const Declarations& declarations);

/// The text that a run with this job hash has left; nothing, and why, if it is not there or damaged. Blocks.
std::optional<std::string> kept_mathematics(Disk& disk, const std::string& job_hash, std::string& why);

}  // namespace muster
