// A preflight in a child process: where a user's model or source crashes or hangs, that is an answer.
#pragma once

#include <string>
#include <vector>

#include "actors/preflight/preflight.hpp"
#include "muster/error.hpp"

namespace muster {

/// As `preflight`, but nothing of the user's is called in this process. `command`: the program and its first
/// arguments, as children of a run are started; --preflight is added. A crash, and a call that does not
/// return within 3 times cluster.straggler.stuck_after, are mistakes that name the call. What takes its time
/// without being bounded (opening the data, say) is told on stderr every 10 s. As soon as `stop`, a
/// descriptor, can be read, it ends the child and throws StopRequested; negative: never. Throws Error: no
/// process can be started, or its program does not call muster::main.
Preflight preflight_apart(const Job& job, const Places& places, const Registry& registry, Trial trial,
                          const ContractScope& scope, const std::vector<std::string>& command, int stop = -1);

/// As check_contract_of_node, in a child process, as above: a crash and a call that does not return are
/// Errors that name the call.
void check_contract_of_node_apart(const Job& job, const Registry& registry, NodeWork work,
                                  const std::vector<std::string>& command);

class StopRequested : public Error {
 public:
  StopRequested() : Error("told to end before the run has begun") {}
};

/// What such a child process does; returns its exit code.
int run_preflight_child(const Registry& registry);

}  // namespace muster
