// Hands what a run tells to functions of the user's, on a thread of its own: one that waits (a terminal that
// is held, a disk that is slow) holds up no actor.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "actors/messages/messages.hpp"
#include "base/mutex.hpp"

namespace muster {

class EventFeed {
 public:
  using OnEvent = std::function<void(const Event&)>;
  using OnProgress = std::function<void(const Progress&, const DataFacts&)>;

  static constexpr std::size_t kWaitingMax = 10000;

  /// Either function may be empty. If one throws, that is said on stderr, and neither is called any more:
  /// what a run does depends on none of them.
  EventFeed(OnEvent on_event, OnProgress on_progress, std::size_t waiting_max = kWaitingMax);
  ~EventFeed() { finish(); }
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  /// Any thread; never waits for the functions. Beyond `waiting_max` events that wait to be told, further
  /// ones are left out; the event `missed`, in their place, says how many.
  void push(const Event& event);
  /// Of several that wait to be told only the last one is.
  void push(const Progress& progress, const DataFacts& facts);

  /// Waits until all that was pushed is told. Nothing is pushed from now on.
  void finish();
  /// Waits until all that was pushed is told, at most for so long; whether it is.
  bool delivered_within(std::chrono::milliseconds most);

 private:
  void run() MUSTER_EXCLUDES(mutex_);
  void report(const std::optional<Event>& event,
              const std::optional<std::pair<Progress, DataFacts>>& progress);
  bool idle() const MUSTER_REQUIRES(mutex_) { return waiting_.empty() && !progress_ && !reporting_; }

  const OnEvent on_event_;
  const OnProgress on_progress_;
  const std::size_t waiting_max_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Event> waiting_ MUSTER_GUARDED_BY(mutex_);
  std::optional<std::pair<Progress, DataFacts>> progress_ MUSTER_GUARDED_BY(mutex_);
  std::uint64_t missed_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool reporting_ MUSTER_GUARDED_BY(mutex_) = false;
  bool ends_ MUSTER_GUARDED_BY(mutex_) = false;
  bool has_thrown_ = false;  // of the thread's own
  std::thread thread_;
};

}  // namespace muster
