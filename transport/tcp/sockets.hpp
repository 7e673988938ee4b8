// The sockets of the transport over TCP. None of them ever blocks; looking up a name may, in `listen_at`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "transport/shared_memory/descriptor.hpp"
#include "transport/tcp/address.hpp"

namespace muster::tcp {

using shm::Descriptor;

/// The first bytes on a connection; frames follow.
struct Hello {
  static constexpr std::uint64_t kMagic = 0x31504354'5254534d;  // "MSTRTCP1"
  std::uint64_t magic = kMagic;
  char from[kNameBytes] = {};
  char to[kNameBytes] = {};
};

/// Listens on a port of an IP address of this host, or of the one that this name has: on a free one from
/// `first` to `last`, or, with 0, on any. A wildcard listens on all addresses, and hands out the first that
/// is not the loopback's. Fills in where it is reached. Throws Error if no interface has the address, or no
/// port is free, or if the name is not known; that is found out within kOwnNameMax.
Descriptor listen_at(const std::string& host, std::uint16_t first, std::uint16_t last, Address& reached);

/// Begins to connect. Whether it could is known when the socket can be written to: see `dial_error`.
/// None if it failed at once: errno says why.
Descriptor dial(const Address& address, bool same_host);
/// 0, or the errno with which dialing ended.
int dial_error(const Descriptor& socket);

/// Lets the kernel end a connection on which the other host acknowledges nothing for so long; 0: as it is.
void end_after_silence(const Descriptor& socket, std::chrono::milliseconds silence_max);

/// The next process that connects. None: errno says whether none waits (EAGAIN), or why it is not let in.
Descriptor accept_from(const Descriptor& listener);

}  // namespace muster::tcp
