// TCP behind the seam, by the kernel's sockets: a payload goes from where it lies into the kernel, and from
// the kernel to its place, and nobody asks first. (UCX 1.13 over TCP copies once more, and asks before each
// large message.)
//
// Two processes have two connections, one for each direction: who has something to say dials, and only he
// writes. A process that ends, however it does, is noticed when the kernel closes them, within milliseconds
// on a network that works. A host that is gone, or a cut cable, is noticed after `silence_max`, with or
// without data under way. A stopped process is noticed only when it has taken nothing for so long of more
// than its socket holds: its kernel answers for it.
//
// Only those are let in who know the name in this transport's address.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "transport/transport.hpp"

namespace muster {

struct TcpOptions {
  /// The IP address that this node is reached by. Empty or a wildcard (0.0.0.0, ::): listens on all
  /// interfaces, and hands out the first address that is not the loopback's.
  std::string listen = "127.0.0.1";
  /// The first and the last port that it may listen on; 0: any.
  std::uint16_t first_port = 0, last_port = 0;
  /// How long a process may take to accept a connection, and one that has connected to say who it is. Shorter
  /// may give up a host that is busy.
  std::chrono::milliseconds greeting_max{10'000};
  /// A connection on which the other host acknowledges nothing for so long ends: TCP_USER_TIMEOUT for what
  /// was sent, SO_KEEPALIVE where nothing is under way. 0: the kernel's own times, which are minutes to
  /// hours.
  std::chrono::milliseconds silence_max{0};
  /// So many may have connected without having said who they are; a further one is turned away.
  std::size_t strangers_max = 1024;
};

/// Throws Error: no interface has the address, no port of the range is free, or the kernel gives no socket.
/// `connect` refuses what is no address of such a transport, and its own address, with an Error.
/// Every buffer given to `send` or by `place` is free as soon as its end was told, and after the destructor.
std::unique_ptr<Transport> make_tcp_transport(const TcpOptions& options = {});

}  // namespace muster
