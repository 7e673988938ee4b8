// What several parts of the coordinator know of the run. A part owns what it alone needs. For one thread at
// a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <vector>

#include "actors/coordinator/facts/coordinator_setup.hpp"
#include "actors/coordinator/states/checkpoints/attempt_verdicts.hpp"
#include "actors/coordinator/states/checkpoints/known_checkpoints.hpp"
#include "actors/coordinator/states/checkpoints/suspect_steps.hpp"
#include "actors/coordinator/states/coordinator_term.hpp"
#include "actors/coordinator/states/epoch_tally.hpp"
#include "actors/coordinator/states/pending_view.hpp"
#include "actors/coordinator/states/run_end.hpp"
#include "actors/coordinator/states/training_rate.hpp"
#include "actors/coordinator/states/waits/gathering.hpp"
#include "actors/coordinator/states/waits/member_silence.hpp"
#include "actors/coordinator/states/waits/phase_timers.hpp"
#include "actors/coordinator/states/waits/recovery_clock.hpp"
#include "actors/rules/membership/membership.hpp"
#include "actors/rules/watch/cluster_watch.hpp"

namespace muster {

/// How often the coordinator looks at the clock.
inline constexpr std::chrono::milliseconds kCoordinatorTick{50};

/// A view is made when none is in force.
enum class CoordinatorPhase {
  forming,     ///< the first view waits for its nodes
  adopting,    ///< a coordinator that was started again waits for the members of the last view
  closing,     ///< all say what they hold
  paused,      ///< nodes are missing
  noting,      ///< the journal's disk takes nothing
  installing,  ///< all greet each other
  running,
};

struct RunFacts {
  CoordinatorSetup setup;
  std::unique_ptr<Membership> membership;
  std::unique_ptr<ClusterWatch> watch;
  std::set<NodeName> away;  ///< whose connection has ended, and who may come back
  CoordinatorPhase phase = CoordinatorPhase::forming;
  View view;                     ///< the last one that was sent
  std::uint32_t first_view = 1;  ///< the first one's number; no other view has it. Only Adoption sets it
  bool begun = false;            ///< a first view was in force
  bool took_effect = false;      ///< a member has done a step in the view. Only ViewChange sets it
  std::vector<NodeName> lost;    ///< not to be waited for in the view that is being closed
  PendingView pending;           ///< decided, and refused by a disk
  CoordinatorTerm term;
  EpochTally epochs;
  TrainingRate training;
  Report report;
  RunEnd end;
  RecoveryClock recovery;
  Gathering gathering{kCoordinatorTick};
  MemberSilence silence;
  PhaseTimers timers{kCoordinatorTick};

  /// Whether a view is in force, and the run does not end.
  bool in_force() const;
  /// Members of a view that the journal lacks may come, and say which numbers were given.
  bool unknown_members_may_come() const;
  /// The members of the view read the state from a checkpoint, and none has done a step in it yet.
  bool is_going_back() const;
  /// The most that is known of. What lost members had done may be given up since.
  std::uint64_t steps_done() const;
  /// The first view is made, and does not hold this node: it was not ready. It comes as a newcomer.
  bool comes_later(const NodeName& who) const;
  /// Whether the run may lose this node.
  bool goes_on_without(const NodeName& who) const;
};

/// What is known of checkpoints, and of steps that may be wrong.
struct CheckpointFacts {
  /// As the argument of KnownCheckpoints::last_before: any checkpoint.
  static constexpr std::uint64_t kAllSteps = std::numeric_limits<std::uint64_t>::max();

  AttemptVerdicts verdicts;
  SuspectSteps suspects;
  std::unique_ptr<KnownCheckpoints> known;
  std::uint32_t back_in = 0;  ///< the last view that went back
};

}  // namespace muster
