#include "cli/scaling/step_simulation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <queue>
#include <vector>

namespace muster {
namespace {

enum Resource : std::size_t { kThread, kAdapter, kResources };

// What a bucket asks of a resource, in a row of such visits.
struct Visit {
  Resource resource = kThread;
  double seconds = 0;
  double parts = 1;      ///< the next visit may begin when the first part is done
  double latency_s = 0;  ///< behind it
};
using Visits = std::vector<Visit>;

// Sent, carried, received; what was received is copied, if it came from memory.
void append(Visits& route, const PhaseCost& cost, const CostParameters& parameters, double copied) {
  const double handling = cost.messages / 2 * parameters.overhead_s;
  route.push_back({kThread, handling, cost.at_once, 0});
  route.push_back(
      {kAdapter, cost.wire * parameters.wire_s_per_byte, cost.at_once,
       cost.hops_within * parameters.latency_within_s + cost.hops_between * parameters.latency_between_s});
  route.push_back({kThread, handling + 2 * copied * parameters.memory_s_per_byte, cost.at_once, 0});
}

Visits route_of_reports(const PhaseCost& cost, const CostParameters& parameters) {
  Visits route;
  append(route, cost, parameters, 0);
  return route;
}

// Where each message is added on arrival, adding goes along with receiving; where an owner waits for all
// others, it comes behind, a chunk at a time.
Visits route_of_bucket(Algorithm algorithm, const Cluster& cluster, const CostParameters& parameters,
                       double bytes) {
  const PhaseCost sums = sums_cost(algorithm, cluster, bytes, parameters.chunk_bytes);
  const PhaseCost results = results_cost(algorithm, cluster, bytes, parameters.chunk_bytes);
  const bool all_at_once =
      algorithm == Algorithm::direct || algorithm == Algorithm::hierarchical || adds_everywhere(algorithm);
  const double range = adds_everywhere(algorithm) ? bytes : bytes / cluster.members;
  const double chunks = std::max(1.0, std::ceil(range / parameters.chunk_bytes));
  Visits route;
  append(route, sums, parameters, 0);
  if (all_at_once) route.back().parts = 1;
  route.push_back(
      {kThread, sums.moved * parameters.memory_s_per_byte, all_at_once ? chunks : sums.at_once, 0});
  append(route, results, parameters, results.sent_within);
  return route;
}

// First come, first served, at each resource.
class Timeline {
 public:
  void add(double at_s, Visits route) {
    if (route.empty()) return;
    routes_.push_back(std::move(route));
    turns_.push({at_s, at_s, routes_.size() - 1, 0});
  }

  /// When the last visit of all routes has ended.
  double run() {
    double end = 0;
    while (!turns_.empty()) {
      const Turn turn = turns_.top();
      turns_.pop();
      const Visit& visit = routes_[turn.route][turn.visit];
      const double begin = std::max(turn.at_s, free_s_[visit.resource]);
      // It ends when its own work is done, and not before the last part of the visit before it has come.
      const double done = std::max(begin + visit.seconds, turn.before_s + visit.seconds / visit.parts);
      free_s_[visit.resource] = begin + visit.seconds;
      busy_s_[visit.resource] += visit.seconds;
      end = std::max(end, done + visit.latency_s);
      if (turn.visit + 1 == routes_[turn.route].size()) continue;
      turns_.push({begin + visit.seconds / visit.parts + visit.latency_s, done + visit.latency_s, turn.route,
                   turn.visit + 1});
    }
    return end;
  }
  double busy_s(Resource resource) const { return busy_s_[resource]; }

 private:
  struct Turn {
    double at_s;      ///< it may begin
    double before_s;  ///< the visit before it has ended
    std::size_t route, visit;
    bool operator<(const Turn& other) const {
      return at_s != other.at_s ? at_s > other.at_s : route > other.route;
    }
  };
  std::vector<Visits> routes_;
  std::priority_queue<Turn> turns_;
  std::array<double, kResources> free_s_{}, busy_s_{};
};

}  // namespace

StepTime simulate_step(Algorithm algorithm, const Cluster& cluster, const CostParameters& parameters,
                       const StepShape& shape) {
  const double computed_s = shape.forward_s + shape.backward_s;
  StepTime time;
  double reduced_s = computed_s;
  if (cluster.members > 1) {
    Timeline timeline;
    timeline.add(0, route_of_reports(headers_cost(cluster, shape.shards_each), parameters));
    timeline.add(computed_s, route_of_reports(metrics_cost(cluster, shape.shards_each), parameters));
    const double buckets =
        shape.overlap ? std::max(1.0, std::ceil(shape.gradient_bytes / shape.bucket_bytes)) : 1;
    const Visits route = route_of_bucket(algorithm, cluster, parameters, shape.gradient_bytes / buckets);
    for (double bucket = 1; bucket <= buckets; ++bucket)
      timeline.add(shape.forward_s + shape.backward_s * bucket / buckets, route);
    reduced_s = std::max(computed_s, timeline.run());
    time.thread_s = timeline.busy_s(kThread);
    time.wire_s = timeline.busy_s(kAdapter);
  }
  time.exposed_s = reduced_s - computed_s;
  time.total_s = reduced_s + shape.update_s;
  return time;
}

double reduction_seconds(Algorithm algorithm, const Cluster& cluster, const CostParameters& parameters,
                         double bytes) {
  StepShape shape;
  shape.gradient_bytes = bytes;
  return simulate_step(algorithm, cluster, parameters, shape).total_s;
}

}  // namespace muster
