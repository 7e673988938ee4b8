#include "actors/rules/nodes/keeping_time.hpp"

#include <algorithm>

#include "base/canary.hpp"

namespace muster {

std::chrono::milliseconds time_while_keeping(const Job& job, std::chrono::milliseconds usual, int share,
                                             bool can_spare) {
  if (!can_spare || canary("keeping-waits-as-usual")) return usual;
  return std::min(usual, std::max(job.checkpoint.grace / share, 3 * job.cluster.detect.patience));
}

}  // namespace muster
