// The sockets below the control connections between coordinator and nodes: how long they wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "actors/rules/watch/looking.hpp"

namespace muster {

/// Why there is no connection: what getaddrinfo says, or else an errno.
struct ConnectError {
  int resolver = 0;
  int error = 0;
  std::string text() const;
};

/// A TCP connection to one of the addresses of `host`, or nothing with the reason in `why`. Blocks for at
/// most `most`, and for as long as the resolver takes.
std::optional<int> connect_within(const std::string& host, std::uint16_t port, std::chrono::milliseconds most,
                                  ConnectError& why);

/// Why a look for a coordinator there has failed: by one connection of its own. Blocks as connect_within
/// does.
FailedLook why_not_found(const std::string& host, std::uint16_t port, std::chrono::milliseconds most);

/// Why nothing can listen on this address; empty if something can.
std::string why_not_listening(const std::string& host, std::uint16_t port);

/// A connection to another host ends when nothing that was sent is acknowledged for kUnheardMax, whether
/// there is something to send or not. Between processes of one host no link can be cut: there the kernel
/// tells of an end, and a process that is stopped for long is to be waited for.
void bound_silence(int socket);

}  // namespace muster
