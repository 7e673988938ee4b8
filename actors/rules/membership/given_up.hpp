// What is left of a run whose coordinator has heard no member for cluster.give_up_after, and how to go on: a
// pure rule.
#pragma once

#include <string>

#include "muster/job.hpp"

namespace muster {

/// `by_hand`: its nodes were started by others, and live on without the coordinator. `any_checkpoint`: one is
/// known of.
inline std::string what_is_left(const Job& job, bool by_hand, bool any_checkpoint) {
  const auto& cluster = job.cluster;
  if (job.checkpoint.folder.empty())
    return "Nothing is kept: without checkpoint.folder there is neither a journal nor a checkpoint";
  if (!by_hand)
    return any_checkpoint ? "Go on from the newest checkpoint with --resume"
                          : "No checkpoint is there: begin the run again";
  if (cluster.give_up_after < cluster.orphan_after)
    return "Replicas that live keep their state, and go on with this job's coordinator if it is started "
           "again within cluster.orphan_after of the cut";
  return "Replicas that were cut off have ended after cluster.orphan_after (" +
         std::to_string(cluster.orphan_after.count()) +
         " ms), and have written a checkpoint if they could: start the coordinator with --resume, and the "
         "replicas again. If some still run (they stood still, or have a longer --orphan-after), start it "
         "without --resume: they come back";
}

}  // namespace muster
