// A reduction in virtual time, message by message: the sums of all members are those of the product
// (TreeSum), so what is sent, to whom and when is what the product does. Each member has a thread and each
// host an adapter for each direction; a message waits for them in the order in which it comes.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "cli/scaling/cost_parameters.hpp"
#include "cli/scaling/phase_cost.hpp"
#include "transport/collective/tree_sum/tree_sum.hpp"
#include "transport/simulated/network.hpp"

namespace muster::testing {

/// One shard for each member; neighbors share a host.
ReductionShape shape_of(Algorithm algorithm, const Cluster& cluster, std::size_t elements,
                        std::size_t chunk_elements, std::uint32_t self = 0);

class MessageSimulation {
 public:
  /// Of `buckets` alike, with `elements` each.
  MessageSimulation(Algorithm algorithm, const Cluster& cluster, const CostParameters& parameters,
                    std::size_t elements, std::size_t buckets = 1);

  /// Until every member has the whole result and the reports of all. Headers go out at 0; the sums of bucket
  /// i are handed in at (i + 1) * every_s, losses with the last of them. Once.
  double run(double every_s = 0);

 private:
  struct Member {
    Member(const ReductionShape& shape, Transport& transport)
        : plan(shape), staging(shape.chunk_elements, transport) {}
    SumPlan plan;
    Staging staging;
    VariantChoice variants;
    std::vector<float> values, result;
    std::vector<std::unique_ptr<TreeSum>> sums;     // by bucket
    std::vector<std::vector<std::size_t>> arrived;  // inputs of others, by bucket and piece
    double free_s = 0;                              // the thread
  };
  struct Message {
    double at_s;
    std::size_t number;      // of two that come at once, the one that was sent first
    std::uint32_t from, to;  // the same: the time has come to hand in the sums of a bucket
    Frame frame;
    std::vector<float> payload;
    double wire_s = 0;  // that the adapter of the receiver's host is yet to be busy with it
    bool operator<(const Message& other) const {
      return at_s != other.at_s ? at_s > other.at_s : number > other.number;
    }
  };

  void send(std::uint32_t from, std::uint32_t to, Frame frame, std::span<const float> payload, double bytes);
  void send_reports(std::uint32_t from, FrameKind kind, const PhaseCost& reports);
  bool enters(Message& message);
  void deliver(const Message& message);
  void hand_in(std::uint32_t member, std::size_t bucket);
  double adding_s(Member& member, const Message& message) const;

  Cluster cluster_;
  CostParameters parameters_;
  SimulatedNetwork network_{[](std::chrono::nanoseconds, std::function<void()>) {}, 1, {}};
  std::unique_ptr<Transport> nobody_ = network_.attach("nobody");
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<double> outward_free_s_, inward_free_s_;  // by host
  std::priority_queue<Message> messages_;
  std::size_t sent_ = 0;
};

}  // namespace muster::testing
