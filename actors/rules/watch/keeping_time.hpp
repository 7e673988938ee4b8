// How long others wait for a member that stands still while the state of a run that ends is kept.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/canary.hpp"
#include "muster/job.hpp"

namespace muster {

/// It is lost in time for the others to keep the state: after a share of checkpoint.grace, if that is less
/// than usual. Not before it is known who it is; and not where parts of the state may go with it.
inline std::chrono::milliseconds time_while_keeping(const Job& job, std::chrono::milliseconds usual,
                                                    int share) {
  if (job.train.in_parts() || canary("keeping-waits-as-usual")) return usual;
  return std::min(usual, std::max(job.checkpoint.grace / share, 3 * job.cluster.detect.patience));
}

}  // namespace muster
