// TCP behind the seam, by the kernel's sockets: a payload goes from where it lies into the kernel, and from
// the kernel to its place, and nobody asks first. (UCX 1.13 over TCP copies once more, and asks before each
// large message.)
//
// Two processes have two connections, one for each direction: who has something to say dials, and only he
// writes. A process that ends, however it does, is noticed when the kernel closes them, within milliseconds
// on a network that works. A stopped process, or a cut cable, is not noticed.
//
// Only those are let in who know the name in this transport's address.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "muster/transport/transport.hpp"

namespace muster {

/// How long a process may take to accept a connection, and one that has connected to say who it is.
inline constexpr std::chrono::seconds kTcpGreetingMax{10};
/// So many may have connected without having said who they are; a further one is turned away.
inline constexpr std::size_t kTcpStrangersMax = 1024;

/// `listen` is the IP address that this node is reached by; empty or a wildcard: see tcp/sockets.hpp.
///
/// Throws Error: no interface has the address, or the kernel gives no socket.
/// `connect` refuses what is no address of such a transport, and its own address, with an Error.
/// Every buffer given to `send` or by `place` is free as soon as its end was told, and after the destructor.
std::unique_ptr<Transport> make_tcp_transport(const std::string& listen = "127.0.0.1");

}  // namespace muster
