// Going on from a checkpoint of a job whose mathematics was another one: with another learning rate, say.
//
// A job hash says that something differs, not what. So each run leaves what fixes its mathematics as a text
// in checkpoint.folder, `mathematics-<12 digits of the job hash>.txt`, and a later one compares.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "muster/actors/disk.hpp"
#include "muster/actors/registry.hpp"
#include "muster/config/job.hpp"

namespace muster {

struct Difference {
  std::string key;    ///< "train.optimizer.learning_rate"
  std::string there;  ///< as it was; "not given" where that job had none
  std::string here;

  bool operator==(const Difference&) const = default;
};

/// Of two texts as mathematics_of gives them, in the order of their keys.
std::vector<Difference> differences(const std::string& there, const std::string& here);

/// Whether a run may go on with another value of this key: what is learnt and where the run stands keep their
/// meaning. So it is with rates, decay, clipping and threads; not with shards, batches, data or the model.
bool may_change(const std::string& key);

/// Leaves the text, unless it is there. Blocks. What the disk refuses is left out.
void keep_mathematics(Disk& disk, const Job& job, const Declarations& declarations);

/// If the newest checkpoint of a run of this name is of another job, and all in which that differs is among
/// `accepted`: writes it anew as one of this job, and says what has changed, for people. Does nothing where
/// the newest one is this job's. Blocks. Throws NothingToResume, which names what differs and how to go on;
/// DiskError.
std::string accept_other_job(const Job& job, const Registry& registry, std::shared_ptr<Disk> disk,
                             const std::vector<std::string>& accepted);

}  // namespace muster
