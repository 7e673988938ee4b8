// Hands what a run tells to functions of the user's, on a thread of its own: one that waits (a pipe that is
// not read, a disk that is slow) holds up no actor.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <utility>

#include "actors/messages/messages.hpp"
#include "base/bounded/bounded_feed.hpp"

namespace muster {

class EventFeed {
 public:
  using OnEvent = std::function<void(const Event&)>;
  using OnProgress = std::function<void(const Progress&, const DataFacts&)>;

  static constexpr std::size_t kWaitingMax = 10000;

  /// Either function may be empty. If one throws, that is said on stderr, and neither is called any more:
  /// what a run does depends on none of them.
  EventFeed(OnEvent on_event, OnProgress on_progress, std::size_t waiting_max = kWaitingMax);

  /// Any thread; never waits for the functions. Beyond `waiting_max` events that wait to be told, further
  /// ones are left out; the event `missed`, in their place, says how many.
  void push(const Event& event);
  /// Of several that wait to be told only the last one is.
  void push(const Progress& progress, const DataFacts& facts);

  /// Waits until all that was pushed is told. Nothing is pushed from now on.
  void finish() { feed_.finish(); }
  /// Waits until all that was pushed is told, at most for so long; whether it is.
  bool delivered_within(std::chrono::milliseconds most) { return feed_.delivered_within(most); }

 private:
  template <class Tell>
  void tell(const Tell& tell);

  const OnEvent on_event_;
  const OnProgress on_progress_;
  bool has_thrown_ = false;  // of the thread's own
  BoundedFeed<Event, std::pair<Progress, DataFacts>> feed_;
};

}  // namespace muster
