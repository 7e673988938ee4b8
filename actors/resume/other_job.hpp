// Going on from a checkpoint of a job whose mathematics was another one: with another learning rate, say.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/disk.hpp"
#include "muster/job.hpp"
#include "muster/registry.hpp"

namespace muster {

/// Looks through the checkpoints of all runs of this job's name. Where the newest one that can be gone on
/// from is of a job that differs in nothing but what is `accepted`: writes it anew as one of this job. Gives
/// what people should know: what has changed, that nothing had to be accepted, or that a newer one of another
/// job was left alone; empty if nothing. Blocks. Throws NothingToResume where there is none of this job's
/// own, which names what differs and how to go on; DiskError.
std::string accept_other_job(const Job& job, const Registry& registry, std::shared_ptr<Disk> disk,
                             const std::vector<std::string>& accepted);

}  // namespace muster
