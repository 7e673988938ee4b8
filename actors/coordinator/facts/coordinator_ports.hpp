// The ports and actions that most parts of the coordinator are given.
#pragma once

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_actions.hpp"

namespace muster {

struct CoordinatorPorts {
  CoordinatorPort& port;
  NodeConnections& connections;
  ViewActions& views;
  EndActions& ending;
};

}  // namespace muster
