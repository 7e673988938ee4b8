// While the check before a run calls a user's code in this process, which nothing can interrupt: signals, and
// a word about calls that take their time.
#pragma once

#include <thread>

#include "actors/processes/signals.hpp"
#include "actors/user_calls/call_watch.hpp"

namespace muster {

/// The first signal is kept, and told on stderr: the run ends when the check is over. A second one ends the
/// process at once. Watches until finish(). `signals`, from which nobody else takes meanwhile, and `note`, of
/// the calls of one thread, outlive it.
class CheckHere {
 public:
  /// Throws Error: no descriptor is left.
  CheckHere(Signals& signals, const CallNote& note);
  ~CheckHere() {
    finish();
    ::close(over_);
  }
  CheckHere(const CheckHere&) = delete;
  CheckHere& operator=(const CheckHere&) = delete;

  /// The check is over: which signal came; 0: none. From now on others may take signals.
  int finish();

 private:
  void watch();
  void take();

  Signals& signals_;
  CallWatch calls_;
  const int over_;  // can be read when the check is over
  int taken_ = 0;   // by the watcher, while it runs
  std::thread watcher_;
};

}  // namespace muster
