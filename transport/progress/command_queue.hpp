// Commands from any thread to one thread, with a descriptor that wakes it.
#pragma once

#include <atomic>
#include <vector>

#include "base/mutex.hpp"
#include "transport/progress/command.hpp"

namespace muster {

class CommandQueue {
 public:
  /// Throws Error if the process has no descriptor left.
  CommandQueue();
  ~CommandQueue();
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  /// Any thread. Never blocks but for the lock. Writes to the descriptor only if the other thread sleeps.
  void post(Command command);

  /// The one thread: runs all that was posted before the call, in order. Returns whether there was any.
  bool run();

  /// The one thread: says that it is about to wait for the descriptor. False: there are commands, do not
  /// wait.
  bool sleep();
  /// The one thread: it no longer waits. The descriptor is not readable afterwards.
  void wake();
  /// Another thread does the one thread's work for the moment: nobody needs to be woken.
  void stay_awake();
  /// Wakes the one thread, or lets it not fall asleep.
  void call();
  int event_descriptor() const { return event_descriptor_; }

 private:
  const int event_descriptor_;
  std::atomic<bool> any_ = false;  // a hint, so that polling takes no lock
  Mutex mutex_;
  std::vector<Command> posted_ MUSTER_GUARDED_BY(mutex_);
  bool sleeping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::vector<Command> running_;  // the one thread's; swapped with posted_, so that both keep their room
};

}  // namespace muster
