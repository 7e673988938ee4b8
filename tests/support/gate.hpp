// Where a thread stands until a test lets it pass: a disk that does not answer.
#pragma once

#include "base/mutex.hpp"

namespace muster::testing {

class Gate {
 public:
  void close() { set(true); }
  void open() { set(false); }

  /// Blocks while the gate is closed.
  void pass() {
    const MutexLock lock(mutex_);
    ++here_;
    changed_.notify_all();
    while (closed_) changed_.wait(mutex_);
    --here_;
  }
  /// Blocks until a thread stands here.
  void await_someone() {
    const MutexLock lock(mutex_);
    while (here_ == 0) changed_.wait(mutex_);
  }

 private:
  void set(bool closed) {
    const MutexLock lock(mutex_);
    closed_ = closed;
    changed_.notify_all();
  }

  Mutex mutex_;
  ConditionVariable changed_;
  bool closed_ MUSTER_GUARDED_BY(mutex_) = false;
  int here_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::testing
