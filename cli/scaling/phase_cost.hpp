// What one half of a reduction costs, in closed form: messages, hops and bytes of the busiest member, for as
// many members as there may be. `cost_of` (collective/choice/cost.hpp) counts the same from the trees; a test
// holds both against each other, and the messages against a member's plan.
//
// The terms are those of Hockney ("The communication challenge for MPP", 1994), for collective operations
// Thakur, Rabenseifner and Gropp ("Optimization of collective communication operations in MPICH", 2005).
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/collective/algorithms/algorithm.hpp"

namespace muster {

/// The members of a view, all hosts alike: both numbers are powers of two, `per_host` divides `members`, and
/// each member holds one node of the canonical tree. In the order of their shards, those of a host together.
struct Cluster {
  std::uint32_t members = 1;
  std::uint32_t per_host = 1;  ///< they share the host's network adapter
  std::uint32_t hosts() const { return members / per_host; }
};

/// The sums on their way to the owners, or the results on their way back.
struct PhaseCost {
  double hops_within = 0;    ///< of the longest way of an element, between members of one host
  double hops_between = 0;   ///< of the same way, between hosts
  double messages = 0;       ///< that the busiest member sends and receives, both counted
  double at_once = 1;        ///< of these, sent before the first one must have arrived
  double sent = 0;           ///< bytes that the busiest member sends; no one receives more
  double sent_within = 0;    ///< of these, to members of its host
  double moved = 0;          ///< bytes that adding moves at the busiest member: operands read, sums written
  double wire = 0;           ///< bytes that the busiest host sends to others; it receives as many
  double total = 0;          ///< bytes that all members send
  double total_between = 0;  ///< of these, to another host
};

/// With reports of `bytes` (4 an element) in messages of at most `chunk_bytes`. A vector that does not divide
/// evenly is taken as if it did.
PhaseCost sums_cost(Algorithm algorithm, const Cluster& cluster, double bytes, double chunk_bytes);
PhaseCost results_cost(Algorithm algorithm, const Cluster& cluster, double bytes, double chunk_bytes);

/// Headers and losses, from every member to every other one, once a step; see docs/internals/collectives.md.
/// With `shards` of each member; the frames' own headers are counted.
PhaseCost headers_cost(const Cluster& cluster, double shards);
PhaseCost metrics_cost(const Cluster& cluster, double shards);

}  // namespace muster
