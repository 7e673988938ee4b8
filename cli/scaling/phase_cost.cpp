#include "cli/scaling/phase_cost.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.hpp"
#include "transport/collective/rounds/round.hpp"
#include "transport/frame.hpp"

namespace muster {
namespace {

void check(const Cluster& cluster) {
  MUSTER_CHECK(std::has_single_bit(cluster.members) && std::has_single_bit(cluster.per_host) &&
                   cluster.per_host <= cluster.members,
               cluster.members, cluster.per_host);
}

double logarithm(std::uint32_t power_of_two) {
  return std::countr_zero(power_of_two);
}

// In pieces of a chunk each.
double pieces(double bytes, double chunk_bytes) {
  return std::max(1.0, std::ceil(bytes / chunk_bytes));
}

// What every member sends `bytes` of to every other one, in `messages` each.
PhaseCost all_to_all(const Cluster& cluster, double bytes, double messages) {
  const double members = cluster.members, each = cluster.per_host;
  PhaseCost cost;
  cost.hops_within = cluster.hosts() == 1 && cluster.members > 1 ? 1 : 0;
  cost.hops_between = cluster.hosts() > 1 ? 1 : 0;
  cost.messages = 2 * (members - 1) * messages;
  cost.at_once = std::max(1.0, (members - 1) * messages);
  cost.sent = (members - 1) * bytes;
  cost.sent_within = (each - 1) * bytes;
  cost.wire = each * (members - each) * bytes;
  cost.total = members * cost.sent;
  cost.total_between = cluster.hosts() * cost.wire;
  return cost;
}

// Halves, quarters, ...: ranges that lie together go as one message, up to a chunk.
PhaseCost halving(const Cluster& cluster, double bytes, double chunk_bytes) {
  const double members = cluster.members, range = bytes / members;
  PhaseCost cost;
  cost.hops_within = logarithm(cluster.per_host);
  cost.hops_between = logarithm(cluster.hosts());
  for (std::uint32_t ranges = cluster.members / 2; ranges > 0; ranges /= 2) {
    const double joined = std::floor(chunk_bytes / range);
    cost.messages += 2 * (joined > 1 ? std::ceil(ranges / joined) : ranges * pieces(range, chunk_bytes));
    const bool within = cluster.members / ranges / 2 < cluster.per_host;
    (within ? cost.sent_within : cost.wire) += ranges * range;
  }
  cost.at_once = std::max(1.0, cost.messages / 2 / std::max(1.0, logarithm(cluster.members)));
  cost.sent = cost.sent_within + cost.wire;
  cost.wire *= cluster.per_host;
  cost.total = members * cost.sent;
  cost.total_between = cluster.hosts() * cost.wire;
  return cost;
}

// The ranges of the members with the same place on their hosts do not lie together: a message for each.
PhaseCost two_levels(const Cluster& cluster, double bytes, double chunk_bytes) {
  const double members = cluster.members, each = cluster.per_host, hosts = cluster.hosts();
  const double range = bytes / members;
  PhaseCost cost;
  cost.hops_within = each > 1 ? 1 : 0;
  cost.hops_between = hosts > 1 ? 1 : 0;
  cost.sent_within = (each - 1) * hosts * range;
  cost.sent = cost.sent_within + (hosts - 1) * range;
  cost.messages = 2 * (members - 1) * pieces(range, chunk_bytes);
  cost.at_once = std::max(1.0, cost.messages / 2 / std::max(1.0, cost.hops_within + cost.hops_between));
  cost.wire = each * (hosts - 1) * range;
  cost.total = members * cost.sent;
  cost.total_between = hosts * cost.wire;
  return cost;
}

PhaseCost phase_cost(Algorithm algorithm, const Cluster& cluster, double bytes, double chunk_bytes) {
  if (algorithm == Algorithm::halving_doubling) return halving(cluster, bytes, chunk_bytes);
  if (algorithm == Algorithm::hierarchical) return two_levels(cluster, bytes, chunk_bytes);
  if (adds_everywhere(algorithm)) return all_to_all(cluster, bytes, pieces(bytes, chunk_bytes));
  const double range = bytes / cluster.members;
  return all_to_all(cluster, range, pieces(range, chunk_bytes));
}

// Of how many ranges a member adds up something: its own, or all; those that it speaks for on its host; with
// halving, all in whose tree it is no leaf.
double ranges_added(Algorithm algorithm, const Cluster& cluster) {
  if (algorithm == Algorithm::halving_doubling) return cluster.members / 2.0;
  if (adds_everywhere(algorithm)) return cluster.members;
  return algorithm == Algorithm::hierarchical && cluster.per_host > 1 ? cluster.hosts() : 1;
}

}  // namespace

PhaseCost sums_cost(Algorithm algorithm, const Cluster& cluster, double bytes, double chunk_bytes) {
  check(cluster);
  PhaseCost cost = phase_cost(algorithm, cluster, bytes, chunk_bytes);
  // What comes in is read; where there is something to add, the own part is read and the sum written.
  if (cluster.members > 1)
    cost.moved = cost.sent + 2 * ranges_added(algorithm, cluster) * bytes / cluster.members;
  return cost;
}

// Results go the ways of the sums back, with as many messages and bytes; there are none where every member
// has added them up itself.
PhaseCost results_cost(Algorithm algorithm, const Cluster& cluster, double bytes, double chunk_bytes) {
  check(cluster);
  if (adds_everywhere(algorithm)) return {};
  return phase_cost(algorithm, cluster, bytes, chunk_bytes);
}

PhaseCost headers_cost(const Cluster& cluster, double shards) {
  const double fixed = static_cast<double>(sizeof(Frame) + encoded_header_bytes(0) + kCheckBytes);
  return all_to_all(cluster, fixed + shards * sizeof(ShardReport), 1);
}

PhaseCost metrics_cost(const Cluster& cluster, double shards) {
  return all_to_all(cluster, sizeof(Frame) + kCheckBytes + shards * sizeof(ShardMetrics), 1);
}

}  // namespace muster
