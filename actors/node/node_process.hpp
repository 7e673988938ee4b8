// The process of a node: one that a launcher started, or one that came by itself (`muster join`).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/node/node.hpp"
#include "muster/registry.hpp"

namespace muster {

struct NodeArguments {
  std::string host;  ///< of the coordinator
  std::uint16_t port = 0;
  NodeName name;
  pid_t parent = 0;            ///< the launcher, which this process must not outlive; 0: none
  bool joins = false;          ///< comes by itself: the coordinator gives it the next free number
  std::string device;          ///< asked for, by one that joins
  std::uint64_t launched = 0;  ///< number that the launcher gives this start; 0: there is no launcher
};
std::vector<std::string> to_arguments(const NodeArguments& arguments);

/// What a launched process does: joins, works, ends. SIGTERM: it hands its shards over and ends. Returns its
/// exit code: 0 after a good end, else 1.
int run_node(const NodeArguments& arguments, const Registry& registry);
int run_node(const NodeArguments& arguments, const Registry& registry, NodeSeams seams);

struct JoinOptions {
  NodeArguments node;
  /// How long the coordinator is looked for before the first message from it.
  std::chrono::milliseconds patience{60000};
  /// How long it may be gone later; default: the job's cluster.orphan_after.
  std::optional<std::chrono::milliseconds> orphan_after;
  std::function<void(const std::string&)> say;  ///< what happens, for people; any thread; must not block
  bool unchecked = false;                       ///< without the check of what model and sources promise
};

/// What `muster join` does. A node that was evicted joins again, as a new incarnation, with back-off from
/// half a second to 10 s. Returns the exit code.
int run_joining_node(const JoinOptions& options, const Registry& registry);

/// A number that no other start of a node has.
std::uint64_t new_incarnation();

}  // namespace muster
