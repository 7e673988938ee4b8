// A step of training in virtual time: the backward pass yields the gradient in buckets, each is reduced along
// the algorithm's trees, then comes the update. Buckets queue for the member's thread and for its host's
// network adapter.
//
// All members do the same at the same time, so one of them stands for all, and its timeline costs as much for
// 4,096 members as for 8. What a bucket asks of thread and adapter is in closed form (phase_cost.hpp). A test
// holds it against a simulation of every message of the production code, for 2 to 16 members.
//
// Not in it: congestion inside the network, incast, losses, stragglers, other work on the host.
#pragma once

#include "cli/scaling/cost_parameters.hpp"
#include "cli/scaling/phase_cost.hpp"

namespace muster {

struct StepShape {
  double gradient_bytes = 0;
  double bucket_bytes = 25 << 20;  ///< as PyTorch DDP's (Li et al., 2020); only with `overlap`
  double forward_s = 0;
  double backward_s = 0;  ///< yields the gradient evenly
  double update_s = 0;
  double shards_each = 1;  ///< of a member: the size of its headers
  bool overlap = false;    ///< false: the whole vector at the end of the backward pass, as one bucket
};

struct StepTime {
  double total_s = 0;
  double exposed_s = 0;  ///< from the end of the backward pass to the result: what overlap did not hide
  double thread_s = 0;   ///< in which the member's thread was busy with the reduction
  double wire_s = 0;     ///< in which the host's adapter was
};

StepTime simulate_step(Algorithm algorithm, const Cluster& cluster, const CostParameters& parameters,
                       const StepShape& shape);

/// One reduction alone, with nothing before or after it, headers and losses included: what `muster bench
/// allreduce` measures.
double reduction_seconds(Algorithm algorithm, const Cluster& cluster, const CostParameters& parameters,
                         double bytes);

}  // namespace muster
