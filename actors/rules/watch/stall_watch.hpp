// What a node says when its replica waits too long: a pure rule over the sights of a stalled round and its
// own progress. Says each thing once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "actors/messages/end_messages.hpp"
#include "actors/messages/view.hpp"
#include "actors/rules/stragglers/speculation.hpp"
#include "actors/rules/stragglers/straggling.hpp"
#include "muster/job.hpp"

namespace muster {

class StallWatch {
 public:
  using Time = std::chrono::nanoseconds;

  StallWatch(std::uint32_t self, const ClusterConfig& cluster) : self_(self), cluster_(cluster) {}

  struct Findings {
    std::vector<HeldUp> held_up;
    std::vector<Failing> complaints;  ///< of links; `name` and `view` are filled in
  };
  /// `complains`: whether broken links are told of already. Before the first view is in force they are not:
  /// its greeting has start_patience, and names who is missing.
  Findings of(const RoundSight& sight, bool complains);

  /// What this node's replica, which waits, is to compute for late ones of `replicas`; each node once a
  /// round. Nothing unless cluster.straggler.action is "speculate".
  std::vector<BackupTask> backup_tasks(const RoundSight& sight, const std::vector<Member>& replicas,
                                       std::uint32_t shards);

  /// This node's own replica, looked at every heartbeat: it says itself that its data does not come. That
  /// holds for a single replica, too, which nobody else waits for.
  std::optional<HeldUp> of_self(const ProgressStatus& status, std::uint32_t view, std::uint64_t step,
                                Time now);

 private:
  std::uint32_t self_;
  ClusterConfig cluster_;
  LateMemory said_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> complained_;  // by view and slot: patiences
  std::set<NodeId> backup_tasks_;                                  // of the round that was looked at last
  std::pair<std::uint32_t, std::uint64_t> backup_tasks_of_{0, 0};  // its view and number
  Time median_step_{0};
  ProgressStatus last_;
  Time since_{0};
  bool told_ = false;
};

}  // namespace muster
