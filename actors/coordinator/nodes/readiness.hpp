// A node that is ready is taken in when it and those of other hosts reach each other's ports of data: a
// firewall is named before anything depends on what it drops.
#pragma once

#include <chrono>
#include <string>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"
#include "actors/coordinator/facts/run_facts.hpp"
#include "actors/coordinator/nodes/arrivals.hpp"
#include "actors/rules/membership/reach.hpp"

namespace muster {

class Readiness {
 public:
  Readiness(RunFacts& run, Arrivals& arrivals, CoordinatorPort& port, ViewActions& views, EndActions& ending)
      : run_(run), arrivals_(arrivals), port_(port), views_(views), ending_(ending) {}

  void on(const Prepared& message);
  void on(const Reached& message);
  /// Takes in those who owe no report any more. `passed`: since the last call.
  void take_in_reached(std::chrono::milliseconds passed = {});
  /// Its connection broke: what it owed is asked for again.
  void came_back(const NodeName& who) { reach_.came_back(who); }
  /// All join anew.
  void begin_anew() { reach_ = {}; }

 private:
  void ask_for_ports(const NodeName& who);
  bool any_reaches(const NodeName& loader, const NodeName& not_this_one);
  void refuse_unreached(const NodeName& who, const std::string& reason);
  void is_ready(const NodeName& who);

  RunFacts& run_;
  Arrivals& arrivals_;
  CoordinatorPort& port_;
  ViewActions& views_;
  EndActions& ending_;
  ReachWatch reach_;
};

}  // namespace muster
