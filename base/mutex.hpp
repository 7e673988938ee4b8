// A mutex whose use clang checks while it compiles: each member says which mutex guards it, and a function
// that expects a mutex to be held says so. The product has no other mutexes; a test holds that.
//
//   class Counter {
//    public:
//     void add() {
//       const MutexLock lock(mutex_);
//       ++count_;
//     }
//    private:
//     Mutex mutex_;
//     int count_ MUSTER_GUARDED_BY(mutex_) = 0;  // an access without mutex_ is an error in a build with clang
//   };
//
// clang does not look into constructors and destructors, and does not know what the caller of a lambda holds.
// So a condition is waited for in a loop, not in a predicate: `while (!done_) changed_.wait(mutex_);`.
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define MUSTER_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define MUSTER_THREAD_SAFETY(attribute)  // g++ does not know them
#endif

/// Of a member: it is read and written with this mutex only.
#define MUSTER_GUARDED_BY(mutex) MUSTER_THREAD_SAFETY(guarded_by(mutex))
/// Of a pointer: what it points to is.
#define MUSTER_PT_GUARDED_BY(mutex) MUSTER_THREAD_SAFETY(pt_guarded_by(mutex))
/// Of a function: its caller holds these mutexes.
#define MUSTER_REQUIRES(...) MUSTER_THREAD_SAFETY(requires_capability(__VA_ARGS__))
/// Of a function: its caller does not hold these mutexes, because the function locks them.
#define MUSTER_EXCLUDES(...) MUSTER_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
/// Of a function: it locks these mutexes, its object if none is named, and returns with them.
#define MUSTER_ACQUIRE(...) MUSTER_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
/// Of a function: it unlocks them.
#define MUSTER_RELEASE(...) MUSTER_THREAD_SAFETY(release_capability(__VA_ARGS__))
/// Of a function: whoever calls it knows that these mutexes are held, for a reason that clang cannot see.
#define MUSTER_ASSERT_HELD(...) MUSTER_THREAD_SAFETY(assert_capability(__VA_ARGS__))

namespace muster {

/// A std::mutex. MutexLock locks it.
class MUSTER_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() MUSTER_ACQUIRE() { mutex_.lock(); }
  void unlock() MUSTER_RELEASE() { mutex_.unlock(); }

  /// Does nothing. Tells clang that this thread holds the mutex, for example in a callback. Each call has a
  /// comment that says who locked it.
  void assert_held() const MUSTER_ASSERT_HELD() {}

 private:
  friend class ConditionVariable;

  std::mutex mutex_;
};

/// Holds a mutex until the end of its block.
class MUSTER_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MUSTER_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() MUSTER_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  /// Lets go of the mutex before the block ends, or for a part of it.
  void unlock() MUSTER_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  void lock() MUSTER_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Wakes threads that wait for a condition. A wait may end without a notification, so it stands in a loop
/// that tests the condition.
class ConditionVariable {
 public:
  /// Unlocks the mutex while it waits.
  void wait(Mutex& mutex) MUSTER_REQUIRES(mutex) {
    Waiting waiting(mutex.mutex_);
    condition_.wait(waiting.lock);
  }
  /// As `wait`; false once the deadline has passed.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point deadline) MUSTER_REQUIRES(mutex) {
    Waiting waiting(mutex.mutex_);
    return condition_.wait_until(waiting.lock, deadline) == std::cv_status::no_timeout;
  }

  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  /// The caller's lock, in the form in which the standard library takes it. The caller holds the mutex before
  /// and after.
  struct Waiting {
    explicit Waiting(std::mutex& mutex) : lock(mutex, std::adopt_lock) {}
    ~Waiting() { lock.release(); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable condition_;
};

}  // namespace muster
