// How long a connection between coordinator and node may be unheard, and how soon a node is back after that.
// Both sides set these on their sockets (control_port.cpp), and the coordinator's rules count on them.
#pragma once

#include <chrono>

namespace muster {

/// A control connection ends when nothing that was sent over it was acknowledged for so long
/// (TCP_USER_TIMEOUT, RFC 5482). Before that TCP itself goes on when the link is back.
inline constexpr std::chrono::milliseconds kUnheardMax{5000};
/// An attempt to connect ends after so long, and the next one begins a moment later.
inline constexpr std::chrono::milliseconds kConnectMax{1000};
inline constexpr std::chrono::milliseconds kConnectAgain{200};
/// So a node whose link is good again has reached the coordinator within this time.
inline constexpr std::chrono::milliseconds kReturnMax = kUnheardMax + kConnectMax + 2 * kConnectAgain;

/// How long a coordinator that was started anew waits for its members. Where one is back the others follow
/// soon. Where none is, they may look for it for orphan_after from when they know that the one before is
/// gone.
inline std::chrono::milliseconds wait_for_returns(bool some_are_back, std::chrono::milliseconds patience,
                                                  std::chrono::milliseconds orphan_after) {
  const std::chrono::milliseconds soon = kReturnMax + patience;
  return some_are_back ? soon : orphan_after + soon;
}

}  // namespace muster
