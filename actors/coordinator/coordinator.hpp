// The coordinator: keeps the membership, makes the view, collects what is told, and ends the run. No step
// waits for it. The actor forwards each message to the part that it is for (coordinator.cpp has the table).
#pragma once

#include <string>

#include "actors/coordinator/actor_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/nodes/adoption.hpp"
#include "actors/coordinator/nodes/arrivals.hpp"
#include "actors/coordinator/nodes/departures.hpp"
#include "actors/coordinator/nodes/hanging_members.hpp"
#include "actors/coordinator/nodes/member_watch.hpp"
#include "actors/coordinator/nodes/newcomers.hpp"
#include "actors/coordinator/nodes/readiness.hpp"
#include "actors/coordinator/run_ending.hpp"
#include "actors/coordinator/views/corruption.hpp"
#include "actors/coordinator/views/epoch_reports.hpp"
#include "actors/coordinator/views/journal_keeper.hpp"
#include "actors/coordinator/views/rollback.hpp"
#include "actors/coordinator/views/suspect_checkpoints.hpp"
#include "actors/coordinator/views/view_change.hpp"
#include "actors/rules/nodes/own_standstill.hpp"

namespace muster {

/// CAF derives from it to find its name: it cannot be final.
class CoordinatorState : private ViewActions, private EndActions {
 public:
  static inline const char* name = "coordinator";
  using Self = coordinator_actor::stateful_pointer<CoordinatorState>;

  void start(Self self, CoordinatorSetup setup);
  /// Which message is for which part. The messages that several parts need are handled here.
  coordinator_actor::behavior_type behavior();

 private:
  void on(const Tick& message);
  void on(const Installed& message);
  void on(const Progress& message);
  caf::result<RunStatus> on(const StatusRequest& message);

  // --- at each tick

  void skip_own_standstill();
  bool judge();
  void report_late_to_prepare();
  void note_again();
  void fail_for_late();

  // --- what parts ask of each other

  void lost(const NodeName& who, const std::string& noticed_by, const std::string& reason,
            bool again) override {
    departures_.lost(who, noticed_by, reason, again);
  }
  void turn_away(const NodeName& who, const std::string& reason, bool again) override {
    newcomers_.turn_away(who, reason, again);
  }
  void feed_newcomers() override { newcomers_.feed_newcomers(); }
  void close_view() override { view_change_.close_view(); }
  void next_view() override { view_change_.next_view(); }
  void install(const View& view) override { view_change_.install(view); }
  void go_on() override { view_change_.go_on(); }
  void fail(const std::string& reason) override { run_ending_.fail(reason); }
  bool keep_state(const std::string& outcome, const std::string& reason) override {
    return run_ending_.keep_state(outcome, reason);
  }
  bool begin_keeping(const std::string& outcome, const std::string& reason) override {
    return run_ending_.begin_keeping(outcome, reason);
  }
  void last_view() override { run_ending_.last_view(); }
  void conclude(const std::string& outcome, const std::string& reason) override {
    run_ending_.conclude(outcome, reason);
  }
  void finish() override { run_ending_.finish(); }

  coordinator_actor::pointer self_ = nullptr;
  RunFacts run_;
  CheckpointFacts checkpoints_;
  ActorPort port_{run_};
  CoordinatorPorts ports_{port_, port_, *this, *this};
  OwnStandstill standstill_;
  // Each part knows only those above it.
  JournalKeeper journal_{run_, checkpoints_, port_, port_, *this};
  SuspectCheckpoints suspect_checkpoints_{run_, checkpoints_, journal_, port_};
  Rollback rollback_{run_, checkpoints_, suspect_checkpoints_, port_, *this, *this};
  Corruption corruption_{run_, checkpoints_, suspect_checkpoints_, port_, *this, *this};
  EpochReports epoch_reports_{run_, checkpoints_, port_, *this};
  ViewChange view_change_{run_,  checkpoints_, {journal_, suspect_checkpoints_, rollback_, epoch_reports_},
                          port_, *this,        *this};
  HangingMembers hanging_{run_, checkpoints_, port_, *this, *this};
  MemberWatch members_{run_, checkpoints_, hanging_, port_, *this, *this};
  Arrivals arrivals_{run_, checkpoints_, journal_, members_, ports_};
  Readiness readiness_{run_, arrivals_, port_, *this, *this};
  Newcomers newcomers_{run_, port_, *this};
  Adoption adoption_{
      run_, checkpoints_, {journal_, suspect_checkpoints_, rollback_, arrivals_, readiness_}, ports_};
  Departures departures_{run_, checkpoints_, {arrivals_, newcomers_, adoption_}, ports_};
  RunEnding run_ending_{
      run_, checkpoints_, {journal_, suspect_checkpoints_, rollback_, arrivals_}, port_, *this};
};

coordinator_actor::behavior_type coordinator(CoordinatorState::Self self, CoordinatorSetup setup);

}  // namespace muster
