// The mutex, its lock and the condition variable. That clang refuses an access without the mutex is shown by
// scripts/thread-safety.
#include "base/mutex.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kShort = std::chrono::milliseconds(20);
constexpr auto kLong = std::chrono::minutes(5);  // longer than any test is allowed to run

// Threads that wait for a value, and one that sees how many of them wait.
class Waiters {
 public:
  ~Waiters() {
    for (std::thread& thread : threads_) thread.join();
  }

  // Waits until they wait.
  void start(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { wait(); });
    const MutexLock lock(mutex_);
    while (waiting_ < count) waits_.wait(mutex_);
  }
  void set() {
    const MutexLock lock(mutex_);
    ready_ = true;
  }
  void wake_one() { changed_.notify_one(); }
  void wake_all() { changed_.notify_all(); }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  int woken() {
    const MutexLock lock(mutex_);
    return woken_;
  }

 private:
  void wait() {
    const MutexLock lock(mutex_);
    ++waiting_;
    waits_.notify_one();
    while (!ready_) changed_.wait(mutex_);
    ++woken_;
  }

  Mutex mutex_;
  ConditionVariable changed_, waits_;
  bool ready_ MUSTER_GUARDED_BY(mutex_) = false;
  int waiting_ MUSTER_GUARDED_BY(mutex_) = 0;
  int woken_ MUSTER_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_;
};

// Joins a thread that locks the mutex: does not return while somebody holds it.
void lock_elsewhere(Mutex& mutex) {
  std::thread([&mutex] { const MutexLock lock(mutex); }).join();
}

TEST(Mutex, LetsOneThreadInAtATime) {
  constexpr int kThreads = 4, kTimes = 5000;
  Mutex mutex;
  int inside = 0, most = 0, times = 0;
  const auto enter = [&] {
    for (int i = 0; i < kTimes; ++i) {
      const MutexLock lock(mutex);
      most = std::max(most, ++inside);
      ++times;
      if (i % 100 == 0) std::this_thread::yield();
      --inside;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(enter);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(times, kThreads * kTimes);
}

TEST(MutexLock, UnlocksAtTheEndOfItsBlock) {
  Mutex mutex;
  { const MutexLock lock(mutex); }
  lock_elsewhere(mutex);
}

TEST(MutexLock, UnlocksForAPartOfItsBlock) {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    lock.unlock();
    lock_elsewhere(mutex);
    lock.lock();
  }
  lock_elsewhere(mutex);
}

TEST(ConditionVariable, WakesAThreadThatWaits) {
  Waiters waiters;
  waiters.start(1);
  waiters.set();
  waiters.wake_one();
  waiters.join();
  EXPECT_EQ(waiters.woken(), 1);
}

TEST(ConditionVariable, WakesAllThreadsThatWait) {
  Waiters waiters;
  waiters.start(3);
  waiters.set();
  waiters.wake_all();
  waiters.join();
  EXPECT_EQ(waiters.woken(), 3);
}

TEST(ConditionVariable, StopsWaitingAtTheDeadline) {
  Mutex mutex;
  ConditionVariable never;
  const auto deadline = Clock::now() + kShort;
  {
    const MutexLock lock(mutex);
    while (never.wait_until(mutex, deadline)) {
    }
    EXPECT_GE(Clock::now(), deadline);
  }
  lock_elsewhere(mutex);
}

TEST(ConditionVariable, DoesNotWaitForADeadlineThatHasPassed) {
  Mutex mutex;
  ConditionVariable never;
  const MutexLock lock(mutex);
  EXPECT_FALSE(never.wait_until(mutex, Clock::now() - kLong));
}

TEST(ConditionVariable, WakesBeforeTheDeadline) {
  Mutex mutex;
  ConditionVariable changed;
  bool ready = false;
  const auto deadline = Clock::now() + kLong;
  MutexLock lock(mutex);
  std::thread other([&] {
    const MutexLock in_other(mutex);  // once the first thread waits
    ready = true;
    changed.notify_one();
  });
  bool in_time = true;
  while (!ready && in_time) in_time = changed.wait_until(mutex, deadline);
  EXPECT_TRUE(in_time);
  lock.unlock();
  other.join();
}

}  // namespace
}  // namespace muster
