// A program that ends itself in the middle of a call of a user's code: said, and no success.
#pragma once

#include <cstdint>

#include "actors/user_calls/call_note.hpp"

namespace muster {

/// While it lives, exit() and quick_exit() of this thread name the call on stderr, and end the process with
/// code 1, whatever they were given. _exit() is not seen.
class ExitGuard {
 public:
  static constexpr int kCode = 1;  // that of a node whose user code fails

  /// `what` outlives it.
  explicit ExitGuard(const CallText& what, std::uint64_t one = 0, std::uint64_t two = 0);
  ~ExitGuard();
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;

 private:
  static void end();  // of the process

  const CallText& what_;
  const std::uint64_t one_, two_;
  const ExitGuard* const outer_;
};

}  // namespace muster
