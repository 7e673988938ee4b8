// How the coordinator watches its nodes: what is told to it of life, links and lateness, and what follows.
#pragma once

#include <chrono>
#include <vector>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/nodes/hanging_members.hpp"

namespace muster {

class MemberWatch {
 public:
  MemberWatch(RunFacts& run, const CheckpointFacts& checkpoints, HangingMembers& hanging,
              CoordinatorPort& port, ViewActions& views, EndActions& ending)
      : run_(run),
        checkpoints_(checkpoints),
        hanging_(hanging),
        port_(port),
        views_(views),
        ending_(ending) {}

  void on(const Heartbeat& message);
  void on(const HeldUp& message);

  /// The coordinator's own heartbeat, to all nodes that live.
  void pulse();
  void pulse_if_due();

  // --- at each tick. True: somebody is lost, or the run ends

  /// All members are silent, or most of them at once: said when it begins, and when they are heard again.
  void see(SelfDoubt::Sight sight);
  bool give_up_silence();
  /// One that owes an answer on a view that is being closed or installed.
  bool judge_closing();
  bool judge_installing();
  bool judge_loaders();
  /// What the watch has found. Where nothing may be lost by choice, a straggler is better than a pause.
  bool follow(const ClusterWatch::Judgement& judgement);

 private:
  bool reads_itself(const HeldUp& message) const;
  bool lose_all_silent();
  std::chrono::milliseconds patience_with(const std::vector<NodeName>& open,
                                          std::chrono::milliseconds usual) const;

  RunFacts& run_;
  const CheckpointFacts& checkpoints_;
  HangingMembers& hanging_;
  CoordinatorPort& port_;
  ViewActions& views_;
  EndActions& ending_;
  CoordinatorPort::Time pulse_at_{};
};

}  // namespace muster
