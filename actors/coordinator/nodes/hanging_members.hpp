// Members that live, and whose threads do nothing: lost where others wait for them, named where they cannot
// be spared, and the end of the run where nobody works any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/rules/membership/hangs.hpp"

namespace muster {

class HangingMembers {
 public:
  HangingMembers(RunFacts& run, const CheckpointFacts& checkpoints, CoordinatorPort& port, ViewActions& views,
                 EndActions& ending)
      : run_(run), checkpoints_(checkpoints), port_(port), views_(views), ending_(ending) {}

  /// Called at each tick. True: somebody is lost, or is to be asked for no state any more, or the run ends.
  bool judge_hanging();
  /// No view is in force: nobody owes a step.
  void no_view_in_force() { in_force_since_ = port_.now(); }
  /// One that hangs, or is late (not `stuck`), is lost. Where others were lost at the same micro-batch the
  /// run ends: no view change helps.
  void lose_hanging(const NodeName& who, const std::string& noticed_by, bool stuck,
                    const std::string& reason);

 private:
  std::chrono::milliseconds patience_with(bool can_spare) const;
  std::string owed_by_hanging(const NodeName& who) const;
  bool any_works_but(const std::vector<NodeName>& stalled) const;
  void report_stalled(const NodeName& who, bool any_works);
  bool starves_newcomers(const NodeName& who);
  void ask_another_donor(const NodeName& hanging);
  bool judge_stalled();
  void fail_for_stalled(const std::vector<NodeName>& stalled);
  bool ends_for_hanging(const NodeName& who, bool stuck);

  RunFacts& run_;
  const CheckpointFacts& checkpoints_;
  CoordinatorPort& port_;
  ViewActions& views_;
  EndActions& ending_;
  Hangs hangs_{[this](const NodeName& who) { return run_.membership->nodes().name_at_place(who); }};
  CoordinatorPort::Time in_force_since_{};                   // the view that is
  std::set<std::pair<std::uint32_t, NodeName>> hangs_said_;  // view, and who hangs and cannot be spared
};

}  // namespace muster
