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

// Hops of the longest way, and what does not depend on the nodes.
PhaseCost round_the_ring(const Cluster& cluster) {
  PhaseCost cost;
  const double hops = cluster.members - 1.0;
  cost.hops_between = cluster.hosts() == 1 ? 0 : cluster.per_host == 1 ? hops : cluster.hosts();
  cost.hops_within = hops - cost.hops_between;
  return cost;
}

PhaseCost ring_sums(const Cluster& cluster, double bytes, double chunk_bytes) {
  PhaseCost cost = round_the_ring(cluster);
  const double range = bytes / cluster.members, each = pieces(range, chunk_bytes);
  double before = ring_nodes_sent(cluster.members, cluster.members - 1);
  for (std::uint32_t member = 0; member < cluster.members; ++member) {
    const double nodes = ring_nodes_sent(cluster.members, member);
    const bool leaves = cluster.hosts() > 1 && (member + 1) % cluster.per_host == 0;
    cost.messages = std::max(cost.messages, (nodes + before) * each);
    cost.sent = std::max(cost.sent, nodes * range);
    // It reads what comes in and its own part of every range but one, and writes what it sends or keeps.
    cost.moved = std::max(cost.moved, (before + nodes + cluster.members - 1) * range);
    if (!leaves) cost.sent_within = std::max(cost.sent_within, nodes * range);
    if (leaves) cost.wire = std::max(cost.wire, nodes * range);
    cost.total += nodes * range;
    if (leaves) cost.total_between += nodes * range;
    before = nodes;
  }
  cost.at_once = std::max(1.0, cost.messages / 2 / std::max(1.0, cluster.members - 1.0));
  return cost;
}

PhaseCost ring_results(const Cluster& cluster, double bytes, double chunk_bytes) {
  PhaseCost cost = round_the_ring(cluster);
  const double members = cluster.members, range = bytes / members;
  cost.messages = 2 * (members - 1) * pieces(range, chunk_bytes);
  cost.at_once = pieces(range, chunk_bytes);
  cost.sent = (members - 1) * range;
  if (cluster.per_host > 1) cost.sent_within = cost.sent;
  if (cluster.hosts() > 1) cost.wire = cost.sent;
  cost.total = members * cost.sent;
  cost.total_between = cluster.hosts() * cost.wire;
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
  if (algorithm == Algorithm::ring) return ring_sums(cluster, bytes, chunk_bytes);
  PhaseCost cost = phase_cost(algorithm, cluster, bytes, chunk_bytes);
  // What comes in is read; where there is something to add, the own part is read and the sum written.
  if (cluster.members > 1)
    cost.moved = cost.sent + 2 * ranges_added(algorithm, cluster) * bytes / cluster.members;
  return cost;
}

// But for the ring, and where there is nobody who does not have them, results go the ways of the sums back,
// with as many messages and bytes.
PhaseCost results_cost(Algorithm algorithm, const Cluster& cluster, double bytes, double chunk_bytes) {
  check(cluster);
  if (adds_everywhere(algorithm)) return {};
  return algorithm == Algorithm::ring ? ring_results(cluster, bytes, chunk_bytes)
                                      : phase_cost(algorithm, cluster, bytes, chunk_bytes);
}

PhaseCost headers_cost(const Cluster& cluster, double shards) {
  const double fixed = static_cast<double>(sizeof(Frame) + encoded_header_bytes(0) + kCheckBytes);
  return all_to_all(cluster, fixed + shards * sizeof(ShardReport), 1);
}

PhaseCost metrics_cost(const Cluster& cluster, double shards) {
  return all_to_all(cluster, sizeof(Frame) + kCheckBytes + shards * sizeof(ShardMetrics), 1);
}

// The sums of k members in a row, ending with `member`, are a least cover of their leaves, for k from 1 to
// members - 1. A node is in a cover if the interval holds it and not its parent; so with N(w) pairs of an
// interval and an aligned block of w leaves in it, the covers have sum of N(w) - 2 N(2w) = N(1) - N(2) -
// N(4) - ... nodes.
double ring_nodes_sent(std::uint32_t members, std::uint32_t member) {
  double nodes = 0;
  for (std::uint32_t width = 1; width < members; width *= 2) {
    const double cut = (member + 1) % width;  // leaves of the block that the intervals end in
    const double blocks = members / width - (cut > 0 ? 1 : 0);
    // The i-th block before the end begins cut + i width leaves before it: all longer intervals hold it.
    const double held = blocks * (members - cut) - width * blocks * (blocks + 1) / 2;
    nodes += width == 1 ? held : -held;
  }
  return nodes;
}

}  // namespace muster
