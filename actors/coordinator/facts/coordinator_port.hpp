// How a part of the coordinator reaches what lies outside of it: the clock, the nodes that have come, whoever
// listens to the run. A test puts its own in their place.
#pragma once

#include <chrono>
#include <variant>
#include <vector>

#include "actors/messages/messages.hpp"
#include "muster/events.hpp"

namespace muster {

/// What the coordinator sends to a node.
using ToNode = std::variant<Welcome, Reach, Install, Begin, Close, Observe, Donate, Pulse, Adopted, Stop>;

class CoordinatorPort {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~CoordinatorPort() = default;
  virtual Time now() const = 0;
  /// Since the coordinator was started.
  virtual std::chrono::nanoseconds elapsed() const = 0;
  /// An event of the run, which goes into its report, too.
  virtual void raise(Event event) = 0;
  /// Throws std::out_of_range if the node is not known.
  virtual void send(const NodeName& who, ToNode message) = 0;
  /// Whether it has come, and was not forgotten.
  virtual bool knows(const NodeName& who) const = 0;
  virtual std::vector<NodeName> known() const = 0;
  /// Then the coordinator receives Tick, once.
  virtual void wake_once_in(std::chrono::milliseconds time) = 0;
  /// Whoever waits for the end of the run is told.
  virtual void tell_end(const RunStatus& status) = 0;
};

/// The connections to the nodes, for those parts that make or end them.
class NodeConnections {
 public:
  virtual ~NodeConnections() = default;
  /// Who sent the message that is being handled; null: nobody that can be answered.
  virtual node_actor sender() const = 0;
  /// To one that has no name here.
  virtual void answer(const node_actor& node, const Stop& stop) = 0;
  /// From now on messages to `who` go to this actor, and the coordinator hears of its end.
  virtual void connect(const NodeName& who, const node_actor& node) = 0;
  /// Whether this node is reached so already. Throws std::out_of_range if it is not known.
  virtual bool is_connection_of(const NodeName& who, const node_actor& node) const = 0;
  virtual caf::actor_addr address_of(const NodeName& who) const = 0;
  virtual std::vector<NodeName> known_at(const caf::actor_addr& address) const = 0;
  virtual void forget_all() = 0;
  virtual void forget_all_but(const std::vector<NodeName>& stay) = 0;
};

}  // namespace muster
