// Signals while the check before a run calls a user's code in this process, which nothing can interrupt.
#pragma once

#include <thread>

#include "muster/actors/signals.hpp"

namespace muster {

/// The first signal is kept, and told on stderr: the run ends when the check is over. A second one ends the
/// process at once. Watches until finish(); `signals` outlives it, and nobody else takes from them.
class SignalsInCheck {
 public:
  /// Throws Error: no descriptor is left.
  explicit SignalsInCheck(Signals& signals);
  ~SignalsInCheck() {
    finish();
    ::close(over_);
  }
  SignalsInCheck(const SignalsInCheck&) = delete;
  SignalsInCheck& operator=(const SignalsInCheck&) = delete;

  /// The check is over: which signal came; 0: none. From now on others may take signals.
  int finish();

 private:
  void watch();
  void take();

  Signals& signals_;
  const int over_;  // can be read when the check is over
  int taken_ = 0;   // by the watcher, while it runs
  std::thread watcher_;
};

}  // namespace muster
