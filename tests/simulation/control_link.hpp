// Messages between processes, as CAF's middleman carries them over TCP: serialized and read back, each
// connection in order, nothing from the dead. A proxy stands for each remote actor, so that the production
// actors send, answer and monitor as they do between machines.
//
// When the end of a connection is noticed: a process that ends or is killed says so (its kernel does), behind
// what it sent before; a machine that is lost, a blocked way and a stopped process say nothing. What a
// blocked way holds comes when it is free, and ends the connection if that takes too long.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/rules/watch/return_time.hpp"
#include "tests/simulation/world.hpp"
#include "transport/simulated/network.hpp"

namespace muster::simulation {

struct ControlOptions {
  Nanoseconds delay_min{std::chrono::microseconds(20)};
  Nanoseconds delay_max{std::chrono::microseconds(300)};
  Nanoseconds again_max{std::chrono::milliseconds(400)};  ///< a lost packet, a way that is free again
  Nanoseconds stall_min{kUnheardMax};                     ///< a connection that stands still so long ends
  Nanoseconds stall_max{kUnheardMax + std::chrono::milliseconds(500)};
};

/// What crossed so far, by the name of the message's type.
struct ControlCount {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

class ControlNet {
 public:
  ControlNet(World& world, caf::actor_system& system, ControlOptions options = {});
  ~ControlNet();
  ControlNet(const ControlNet&) = delete;
  ControlNet& operator=(const ControlNet&) = delete;

  /// A new connection; returns what stands in process `from` for the actor `target` of process `to`.
  caf::strong_actor_ptr connect(ProcessId from, ProcessId to, const caf::strong_actor_ptr& target);

  /// See SimulatedNetwork::disturb; between names of processes.
  void disturb(const std::string& from, const std::string& to, const Disturbance& disturbance);

  /// Whether nothing passes between the two, one way or the other: then no connection can be made.
  bool blocked(ProcessId a, ProcessId b) const;

  /// The process is gone; `told`: its kernel ends its connections, else its machine is gone, too.
  void ended(ProcessId process, bool told);

  /// What comes to this process waits in its kernel: the thread that reads it has its turn after so long.
  void deaf_for(ProcessId process, Nanoseconds time) { deaf_until_[process] = world_.now() + time; }

  /// The machine of a process that was lost with it is there again, after so long: connections to what ran
  /// there end when the next packet of them comes.
  void machine_is_back(ProcessId process, Nanoseconds after);

  /// Sees each message when it is sent, and when it is delivered. May be empty.
  using Spy = std::function<void(ProcessId from, ProcessId to, const caf::message& message)>;
  void watch(Spy sent, Spy delivered) {
    sent_ = std::move(sent);
    delivered_ = std::move(delivered);
  }
  /// Called with what cannot cross: a message that cannot be serialized.
  std::function<void(const std::string& what)> on_mistake;

  const std::map<std::string, ControlCount>& counts() const { return counts_; }
  std::size_t proxies_alive() const { return *proxies_alive_; }

  /// Ends every connection without a message; for the end, while the actor system still is.
  void close_all();

 private:
  class Proxy;
  struct Packet {
    enum class Kind { message, actor_down, end };
    Kind kind = Kind::message;
    Nanoseconds ready{0};
    std::vector<char> bytes;
    caf::strong_actor_ptr from, to;  // real actors of the sending and of the receiving process
    caf::message_id id;
    caf::actor_id gone = 0;  // of an actor that ended
  };
  struct Side {
    ProcessId process = kNobody;
    bool open = true;
    std::map<caf::actor_id, caf::strong_actor_ptr> proxies;  // of the other side's actors, by their id
    std::deque<Packet> in_flight;                            // to the other side
    std::uint64_t stalls = 0;
    bool stalled = false;
    Nanoseconds stalled_at{0};
    bool vanished = false;  // with its machine: nothing answers
  };
  struct Connection {
    Side sides[2];
  };
  using ConnectionPtr = std::shared_ptr<Connection>;

  const Disturbance* in_flight(const Side& from, const Side& to) const;
  caf::strong_actor_ptr proxy(const ConnectionPtr& connection, int side, const caf::strong_actor_ptr& target);
  void send(const ConnectionPtr& connection, int side, const caf::strong_actor_ptr& target,
            caf::mailbox_element& what);
  void push(const ConnectionPtr& connection, int side, Packet packet);
  void pump(const ConnectionPtr& connection, int side);
  void deliver(const ConnectionPtr& connection, int side, Packet& packet);
  void stall(const ConnectionPtr& connection, int side);
  void go_on(const ConnectionPtr& connection, int side);
  Nanoseconds again_max(Nanoseconds stood_still) const;
  void close(Side& side);

  World& world_;
  caf::actor_system& system_;
  ControlOptions options_;
  Spy sent_, delivered_;
  std::vector<ConnectionPtr> connections_;
  std::map<std::pair<std::string, std::string>, Disturbance> paths_;
  std::map<std::string, ControlCount> counts_;
  std::map<ProcessId, Nanoseconds> deaf_until_;
  std::shared_ptr<std::size_t> proxies_alive_ = std::make_shared<std::size_t>(0);
};

}  // namespace muster::simulation
