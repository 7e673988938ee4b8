// Handles of nodes that do nothing, for tests of what is kept of a connection.
#pragma once

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <vector>

#include "actors/messages/interfaces.hpp"

namespace muster::testing {

class IdleNodes {
 public:
  ~IdleNodes() {
    for (const caf::actor& node : nodes_) caf::anon_send_exit(node, caf::exit_reason::kill);
    dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler()).run();
  }
  /// Another one each time.
  node_actor add() {
    nodes_.push_back(
        system_.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](caf::unit_t) {}}; }));
    return caf::actor_cast<node_actor>(nodes_.back());
  }

 private:
  struct Config : caf::actor_system_config {
    Config() { set("scheduler.policy", caf::atom("testing")); }  // without a thread
  };
  Config config_;
  caf::actor_system system_{config_};
  std::vector<caf::actor> nodes_;
};

}  // namespace muster::testing
