// A network in virtual time, an equal of the real transports behind the seam: no order between frames and the
// same failures, drawn by a seed. For what it counts (traffic.hpp) each node is a host of its own.
//
// It has no thread and no clock: each thing that happens later is handed to `after`, which the simulation's
// event queue provides. Two runs that hand in the same seed and make the same calls see the same events.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "transport/transport.hpp"

namespace muster {

namespace simulated {
class Core;
}

struct SimulatedNetworkOptions {
  /// Every hop takes a time between these two, drawn anew: frames overtake each other.
  std::chrono::nanoseconds delay_min{std::chrono::microseconds(5)};
  std::chrono::nanoseconds delay_max{std::chrono::microseconds(200)};
  /// Bytes a second of each single transfer; they do not compete.
  double bandwidth = 2e9;
  /// Payloads up to this size arrive at once; of larger ones the place is asked for first, and they can be
  /// lost between.
  std::size_t at_once_bytes = 8192;
  /// How long after a node vanished, or cut a connection, the other end learns of it: between delay_min and
  /// this.
  std::chrono::nanoseconds notice_max{std::chrono::milliseconds(500)};
  /// How long after a way is free again, or after a packet was lost, it is sent again: up to this.
  std::chrono::nanoseconds again_max{std::chrono::milliseconds(400)};
  /// A connection on which something has stood still for a time between these two fails.
  std::chrono::nanoseconds stall_min{std::chrono::seconds(15)};
  std::chrono::nanoseconds stall_max{std::chrono::seconds(30)};
  /// What still arrives, as first packets do, while the way back is blocked and nothing is acknowledged.
  std::size_t window_bytes = 64 * 1024;
  /// Offers payloads above at_once_bytes as borrowed buffers, as if all nodes were processes of one host. A
  /// node that lets go of a connection revokes them and changes the memory.
  bool supports_borrowing = false;
};

/// What is wrong with the path from one node to another, in this direction only. The transport below is
/// reliable, as TCP and UCX are: nothing is lost or comes twice, but for `loses_loading`. A lost packet shows
/// as a delay, a blocked way as a standstill that ends in late arrival, or in the end of the connection
/// (stall_min, stall_max).
struct Disturbance {
  bool blocked = false;
  double slower = 1;  ///< every hop takes so many times as long
  double loss = 0;    ///< share of frames of which a packet has to be sent again
  /// Share of demands and micro-batches that never arrive, as if a process had dropped them.
  double loses_loading = 0;
  bool times_out = true;  ///< what a blocked way holds ends its connection (stall_min, stall_max)

  bool none() const { return !blocked && slower == 1 && loss == 0 && loses_loading == 0; }
};

/// Once all events have run, nobody is paused and every way is free: started = arrived + refused + dropped +
/// lost.
struct SimulatedCounts {
  std::uint64_t started = 0;  ///< handed to `send` with a connection to go on
  std::uint64_t arrived = 0;
  std::uint64_t refused = 0;   ///< the sink had no place for it
  std::uint64_t dropped = 0;   ///< placed, and cut before it was whole; or its receiver vanished
  std::uint64_t lost = 0;      ///< cut before a sink was asked
  std::uint64_t bytes = 0;     ///< of the payloads that were started
  std::uint64_t borrowed = 0;  ///< of those that arrived, read where the sender had them
  std::uint64_t revoked = 0;   ///< of them, taken back by the sender while the receiver had them
};

class SimulatedNetwork {
 public:
  using After = std::function<void(std::chrono::nanoseconds delay, std::function<void()> event)>;

  /// `after` runs the event once, later, on the one thread of the simulation, never within the call. It must
  /// outlive the network and all its transports. Of events of equal time it runs the one handed in first
  /// first.
  SimulatedNetwork(After after, std::uint64_t seed, SimulatedNetworkOptions options = {});
  ~SimulatedNetwork();
  SimulatedNetwork(const SimulatedNetwork&) = delete;
  SimulatedNetwork& operator=(const SimulatedNetwork&) = delete;

  /// A new node. Its name may be used again when the node of that name is gone; the address differs then. The
  /// transport may outlive the network object, and then no way is blocked and no node is paused any more.
  /// `connect` throws Error for an address that no node ever had. A frame of a vanished node, or of a send
  /// that was reported as failed, may still arrive if it was under way: a coin of the seed decides. The
  /// destructor of the transport is a `cut`.
  std::unique_ptr<Transport> attach(const std::string& name);

  /// The node vanishes: nothing more reaches it, not even a callback; its peers learn of it later. No call if
  /// unknown.
  void cut(const std::string& name);

  /// As `cut`, but the whole machine is gone and nobody says so: peers learn of it when their connection has
  /// stood still for too long.
  void lose(const std::string& name);

  /// From now on, also for what is under way, and for every later node of these names. With none(): mended.
  void disturb(const std::string& from, const std::string& to, const Disturbance& disturbance);

  /// Whether a connection between the nodes of these addresses can be made now.
  bool reaches(const std::string& from, const std::string& to) const;

  /// Breaks the connections between two live nodes; both learn of it later.
  void sever(const std::string& a, const std::string& b);

  /// The node's process stands still (SIGSTOP): no callback reaches it, and its large sends stop half way.
  /// `resume` lets everything come that came meanwhile, in seeded order. No call if unknown or gone.
  void pause(const std::string& name);
  void resume(const std::string& name);

  /// What has become of the frames so far.
  SimulatedCounts counts() const;

 private:
  std::shared_ptr<simulated::Core> core_;
};

}  // namespace muster
