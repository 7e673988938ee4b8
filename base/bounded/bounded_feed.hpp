// Hands items to a function on a thread of its own, so that a function that waits (a terminal that is
// stopped, a disk that is slow) holds up nobody who pushes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "base/mutex.hpp"

namespace muster {

/// `Item`: all are taken, in their order, as long as they fit. `Latest`: of several that wait only the last
/// one is taken, once no item waits.
template <class Item, class Latest>
class BoundedFeed {
 public:
  struct Takes {
    std::function<void(const Item&)> item;
    std::function<void(const Latest&)> latest;
    /// What is taken in the place of items that did not fit: how many, and the item beside them.
    std::function<Item(std::uint64_t count, const Item& beside)> missed;
    std::function<void()> begin = nullptr;  ///< first of all on the thread; may be empty
  };

  /// The functions are called one at a time, on the thread of this object. They must not throw.
  BoundedFeed(Takes takes, std::size_t waiting_max)
      : takes_(std::move(takes)), waiting_max_(waiting_max), thread_([this] { run(); }) {}
  ~BoundedFeed() { finish(); }
  BoundedFeed(const BoundedFeed&) = delete;
  BoundedFeed& operator=(const BoundedFeed&) = delete;

  /// Any thread; never waits for the functions.
  void push(Item item) {
    {
      const MutexLock lock(mutex_);
      if (waiting_.size() >= waiting_max_) {
        ++missed_;
        return;
      }
      if (missed_ > 0) waiting_.push_back(takes_.missed(std::exchange(missed_, 0), item));
      waiting_.push_back(std::move(item));
    }
    changed_.notify_all();
  }
  /// As push, in the place of the one before.
  void replace(Latest latest) {
    {
      const MutexLock lock(mutex_);
      latest_.emplace(std::move(latest));
    }
    changed_.notify_all();
  }

  /// Waits until all that was pushed is taken. Nothing is pushed from now on.
  void finish() {
    if (!thread_.joinable()) return;
    {
      const MutexLock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  /// Waits until all that was pushed is taken, at most for so long; whether it is.
  bool delivered_within(std::chrono::milliseconds most) {
    const MutexLock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + most;
    while (!(idle() && missed_ == 0)) {
      if (!changed_.wait_until(mutex_, deadline)) return idle() && missed_ == 0;
    }
    return true;
  }

 private:
  bool idle() const MUSTER_REQUIRES(mutex_) { return waiting_.empty() && !latest_ && !taking_; }

  std::optional<Item> next_item() MUSTER_REQUIRES(mutex_) {
    if (waiting_.empty()) return std::nullopt;
    std::optional<Item> item(std::move(waiting_.front()));
    waiting_.pop_front();
    // Nobody may push after it.
    if (waiting_.empty() && missed_ > 0) waiting_.push_back(takes_.missed(std::exchange(missed_, 0), *item));
    return item;
  }

  void run() MUSTER_EXCLUDES(mutex_) {
    if (takes_.begin) takes_.begin();
    MutexLock lock(mutex_);
    for (;;) {
      while (!ends_ && waiting_.empty() && !latest_) changed_.wait(mutex_);
      if (waiting_.empty() && !latest_) return;
      const std::optional<Item> item = next_item();
      const std::optional<Latest> latest = item ? std::nullopt : std::exchange(latest_, std::nullopt);
      taking_ = true;
      lock.unlock();
      if (item) takes_.item(*item);
      if (latest) takes_.latest(*latest);
      lock.lock();
      taking_ = false;
      if (idle()) changed_.notify_all();
    }
  }

  const Takes takes_;
  const std::size_t waiting_max_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Item> waiting_ MUSTER_GUARDED_BY(mutex_);
  std::optional<Latest> latest_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t missed_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool taking_ MUSTER_GUARDED_BY(mutex_) = false;
  bool ends_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster
