// The roster: which nodes a run is made of, and how far each has come. Pure rules of the coordinator: state
// and message in, decision and reason out.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/actors/messages.hpp"
#include "muster/config/job.hpp"

namespace muster {

enum class NodeStage { expected, joined, prepared, closed, installed, done, left, lost };

struct NodeRecord {
  NodeStage stage = NodeStage::expected;
  std::int64_t pid = 0;
  std::uint64_t incarnation = 0;
  Prepared prepared;
  ReplicaDone done;
  std::uint64_t records = 0;  ///< as of its last Closed
  std::uint64_t last_step = 0;
  std::chrono::nanoseconds last_heard{0};
};

class Roster {
 public:
  explicit Roster(const Job& job);

  /// Empty if the node may join; else the reason of the refusal, which changes nothing.
  std::string join(const Join& join, std::chrono::nanoseconds now);

  /// Each gives a reason if the run cannot go on with this; empty otherwise.
  std::string prepared(const Prepared& message);
  std::string done(const ReplicaDone& message);
  void installed(const NodeName& name);
  void closed(const Closed& message);
  void heard(const Heartbeat& message, std::chrono::nanoseconds now);
  void lost(const NodeName& name) { nodes_[name].stage = NodeStage::lost; }
  void left(const NodeName& name) { nodes_[name].stage = NodeStage::left; }

  /// Whether every node that is not lost, and has not left, stands at this stage.
  bool all(NodeStage stage, bool replicas_only = false) const;
  std::uint32_t replicas_left() const;
  bool none_alive() const;
  bool alive(const NodeName& name) const;

  /// A node that has joined and has been silent for `patience`; none if there is none.
  struct Silent {
    NodeName name;
    std::chrono::nanoseconds silence{0};
  };
  std::optional<Silent> silent(std::chrono::nanoseconds now, std::chrono::nanoseconds patience) const;

  /// The first stage on the way to a view that not all nodes have reached; `installed` if all have.
  NodeStage stage_behind() const;

  /// Nodes that have not come as far as `stage`, for people: "replica 1, loader 0".
  std::string behind(NodeStage stage) const;

  /// View 1: all replicas and loaders, shards dealt contiguously.
  View first_view() const { return view_of_all(1); }
  /// The view after `last`, when all who are left have closed that one: its shards dealt anew, its records
  /// the most that any of them holds, so that a step which one of them may have applied stands, and one that
  /// none has is done again.
  View next_view(const View& last) const;
  /// The view that is being installed or is in force; for shards_of.
  void entered(const View& view) { view_ = view; }
  const NodeRecord& at(const NodeName& name) const { return nodes_.at(name); }
  const std::map<NodeName, NodeRecord>& nodes() const { return nodes_; }
  std::string shards_of(const NodeName& name) const;

 private:
  View view_of_all(std::uint32_t number) const;

  std::uint32_t shards_;
  std::uint64_t memory_bytes_;
  View view_;
  std::map<NodeName, NodeRecord> nodes_;
};

}  // namespace muster
