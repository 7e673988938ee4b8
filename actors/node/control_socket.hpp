// The sockets below the control connections between coordinator and nodes: how long they wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "actors/rules/watch/looking.hpp"
#include "base/bounded/host_resolver.hpp"

namespace muster {

/// Why there is no connection: what is wrong with the name, or else an errno.
struct ConnectError {
  HostAnswer::Kind name = HostAnswer::Kind::known;
  std::string of_name;  ///< where it is not known
  int error = 0;
  std::string text() const;
};

/// A TCP connection to one of the addresses of `host`, or nothing with the reason in `why`. Blocks for at
/// most `most`, in which the name is looked up, too; and for 300 ms for each address that it has.
std::optional<int> connect_within(const std::string& host, std::uint16_t port, std::chrono::milliseconds most,
                                  ConnectError& why, HostResolver& resolver = host_resolver());

/// Why a look for a coordinator there has failed: by one connection of its own. Blocks as connect_within
/// does.
FailedLook why_not_found(const std::string& host, std::uint16_t port, std::chrono::milliseconds most,
                         HostResolver& resolver = host_resolver());

/// Whether something can listen on an address of this machine.
struct ListenCheck {
  std::string address;  ///< the first one that `host` has and that can be listened on, as numbers
  std::string why_not;  ///< empty if there is one
};

/// By listening there for a moment. Blocks for at most kOwnNameMax.
ListenCheck check_listening(const std::string& host, std::uint16_t port,
                            HostResolver& resolver = host_resolver());

/// The address of this machine on the way to `host`; empty if the name is not known within `most`, or if
/// there is no way. Nothing is sent to that host.
std::string own_address_towards(const std::string& host, std::chrono::milliseconds most,
                                HostResolver& resolver = host_resolver());

/// A connection to another host ends when nothing that was sent is acknowledged for kUnheardMax, whether
/// there is something to send or not. A process there that is stopped is waited for, also where its host has
/// room for no more: the kernel counts what cannot be sent as unacknowledged, though that host answers. If it
/// ceases to answer then, the connection ends within six times kUnheardMax. Between processes of one host no
/// link can be cut: there the kernel tells of an end. For one thread at a time.
class BoundedSilence {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Of a connection that is open, and outlives this object.
  explicit BoundedSilence(int socket);

  /// Call it more often than every kUnheardMax. It looks at most twice a second.
  void look(Time now);

 private:
  const int socket_;
  bool is_bounded_ = false;
  Time looked_{};
  std::optional<Time> no_room_since_;
};

}  // namespace muster
