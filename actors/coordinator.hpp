// The coordinator: keeps the roster, makes the view, collects what is told, and ends the run. No step waits
// for it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "muster/actors/messages.hpp"
#include "muster/actors/report.hpp"
#include "muster/actors/rules/cluster_watch.hpp"
#include "muster/actors/rules/roster.hpp"
#include "muster/config/job.hpp"
#include "muster/config/placement.hpp"

namespace muster {

struct CoordinatorParts {
  Job job;
  std::string job_toml;
  Placement placement;
  std::vector<observer_actor> observers;
  std::vector<Event> first_events;  ///< raised at the start: notices
  /// Called by the actor, on its thread; must not block. Any may be empty.
  std::function<void(const Event&)> on_event;
  std::function<void(const Progress&, const DataFacts&)> on_progress;
  std::function<void(const Report&)> on_end;  ///< once, last of all
};

class CoordinatorState {
 public:
  static inline const char* name = "coordinator";
  using Self = coordinator_actor::stateful_pointer<CoordinatorState>;

  void start(Self self, CoordinatorParts parts);
  void on(const Join& message);
  void on(const Prepared& message);
  void on(const Installed& message);
  void on(const Closed& message);
  void on(const EpochEnd& message);
  void on(const ReplicaDone& message);
  void on(const Failing& message);
  void on(const ChildEnded& message);
  void on(const StopRequest& message);
  void on(const Tick& message);
  void on(const Heartbeat& message);
  void on(const HeldUp& message);
  void on(const Progress& message);
  void raise(Event event);

 private:
  using Time = caf::actor_clock::time_point;

  std::chrono::nanoseconds elapsed() const;
  bool in_force() const { return running_ && !closing_; }
  bool judge();
  bool follow(const ClusterWatch::Judgement& judgement);
  void node_down(const caf::actor_addr& address);
  void set_out();
  void lost(const NodeName& name, const std::string& noticed_by, const std::string& reason);
  void raise_late();
  void close_view();
  void install_next_view();
  void count_epoch(std::uint64_t epoch);
  void fail(const std::string& reason);
  void conclude(const std::string& outcome, const std::string& reason);
  void complete();
  void finish();
  template <class Message>
  void tell_all(const Message& message);

  coordinator_actor::pointer self_ = nullptr;
  CoordinatorParts parts_;
  std::unique_ptr<Roster> roster_;
  std::unique_ptr<ClusterWatch> watch_;
  std::map<NodeName, node_actor> actors_;
  std::map<std::uint64_t, std::map<std::uint32_t, EpochEnd>> epochs_;  // by epoch, by slot
  View view_;
  std::vector<NodeName> lost_;  // not to be waited for in the view that is being closed
  Report report_;
  Time began_{}, trained_from_{}, trained_to_{}, ended_{};
  bool running_ = false;             // Begin was sent
  bool closing_ = false;             // a view change waits for all to have closed
  std::set<std::uint64_t> counted_;  // epochs in the report
  bool ending_ = false;              // the outcome is known
  bool finished_ = false;
};

coordinator_actor::behavior_type coordinator(CoordinatorState::Self self, CoordinatorParts parts);

}  // namespace muster
