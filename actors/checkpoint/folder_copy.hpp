// What there is to know of the checkpoints in a folder, read at one time: their manifests, and the verdicts
// on them. The functions that look into a folder (checkpoint_list.hpp, checkpoint_verdicts.hpp) look into it
// as well, and find all of one moment, also where the disk is slow.
#pragma once

#include <memory>
#include <string>

#include "base/disk.hpp"

namespace muster {

/// Reads all manifests of `folder`, also those that are set aside, and the verdicts of the job with this
/// hash. The disk that it returns has these files in memory, blocks never, and takes no change. What the disk
/// said of one of them it says again to whoever reads that one. Blocks. Throws DiskError where the folder
/// cannot be listed.
std::shared_ptr<Disk> copy_of_manifests(Disk& folder, const std::string& job_hash);

}  // namespace muster
