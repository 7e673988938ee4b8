#include "actors/rules/nodes/keeping_time.hpp"

#include <algorithm>

#include "base/canary.hpp"

namespace muster {

std::chrono::milliseconds time_while_keeping(const Job& job, std::chrono::milliseconds usual, int share) {
  if (job.train.in_parts() || canary("keeping-waits-as-usual")) return usual;
  return std::min(usual, std::max(job.checkpoint.grace / share, 3 * job.cluster.detect.patience));
}

}  // namespace muster
