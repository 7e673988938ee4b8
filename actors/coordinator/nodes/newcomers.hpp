// Newcomers while training is under way: each gets its state from a member, while the others train on.
#pragma once

#include <string>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"
#include "actors/coordinator/facts/run_facts.hpp"

namespace muster {

/// It does these of the ViewActions: turn_away, feed_newcomers.
class Newcomers {
 public:
  Newcomers(RunFacts& run, CoordinatorPort& port, ViewActions& views)
      : run_(run), port_(port), views_(views) {}

  void on(const CaughtUp& message);
  /// It knows its donor now; what that one sends will not come from a stranger.
  void newcomer_ready(const NodeName& who);
  void feed_newcomers();
  /// Its donor gives it nothing any more.
  void end_donation(const NodeName& who);
  /// A newcomer that cannot take part harms nobody. It may try again, unless the reason is its own.
  void turn_away(const NodeName& who, const std::string& reason, bool again);

 private:
  RunFacts& run_;
  CoordinatorPort& port_;
  ViewActions& views_;
};

}  // namespace muster
