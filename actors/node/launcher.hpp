// The child processes of `muster run`.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "actors/messages/messages.hpp"
#include "actors/node/children.hpp"
#include "config/placement.hpp"
#include "muster/job.hpp"

namespace muster {

/// Of all places of the job: its replicas, then its loaders.
std::vector<NodeName> node_names(const Job& job);

/// Starts a process for each place, and new ones for those that are lost if the job says so. One thread.
class Launcher {
 public:
  /// `command`: the program and its first arguments. `port`: of the coordinator. Job and placement must
  /// outlive this object.
  Launcher(const Job& job, const Placement& placement, std::vector<std::string> command, std::uint16_t port);

  void start_all();

  /// Children that have ended are told to the coordinator; new ones take their places after a while.
  void report_ended(const coordinator_actor& coordinator);
  void start_anew(const coordinator_actor& coordinator);

  /// The run is to end: no child is started any more.
  void start_no_more();

  /// Who lives although it counts as lost has been told to end. If it stands still it does not hear that, and
  /// keeps its device from the one that is to take its place. `launched`: the numbers of their starts.
  void end_lost(const std::vector<std::uint64_t>& launched);

  Children children;
  /// Those that user code has ended, or a signal with which the last replica was gone.
  std::vector<Children::Ended> causes;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kBackOffMax = std::chrono::milliseconds(10000);
  static constexpr auto kLostGrace = std::chrono::milliseconds(5000);
  struct Lost {
    std::uint64_t launched;
    Clock::time_point until;
  };
  struct Waiting {
    NodeName name;
    Clock::time_point when;
  };

  void spread(const coordinator_actor& coordinator);
  void start(const NodeName& name, bool joins);

  const Job& job_;
  const Placement& placement_;
  std::vector<std::string> command_;
  std::uint16_t port_;
  std::uint32_t restarts_ = 0;
  bool ending_ = false;
  std::chrono::milliseconds back_off_{500};
  std::deque<Waiting> waiting_;
  std::deque<Lost> lost_;
};

}  // namespace muster
