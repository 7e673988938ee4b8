// Tells an observer of the user's program what happens in a run, one event at a time: the next one when it
// has answered. An observer that is slow, or hangs, holds up no actor of the run, and fills no memory.
//
// CAF runs an actor on the scheduler of whoever sends to it. So what is told goes over a thread (EventFeed),
// to a relay that lives in the observer's own actor system: nothing of the run waits in that system's queue.
#pragma once

#include <cstddef>
#include <memory>

#include "actors/messages/messages.hpp"
#include "actors/run/event_feed.hpp"

namespace muster {

class ObserverFeed {
 public:
  static constexpr std::size_t kWaitingMax = 1000;

  /// `observer`: its actor system outlives this object.
  explicit ObserverFeed(const observer_actor& observer, std::size_t waiting_max = kWaitingMax);
  /// What waits to be told goes into the observer's mailbox.
  ~ObserverFeed();
  ObserverFeed(const ObserverFeed&) = delete;
  ObserverFeed& operator=(const ObserverFeed&) = delete;

  /// Who hears the observer's StopRequest; one that it has sent before, too.
  void answers_to(const coordinator_actor& coordinator);

  /// As EventFeed::push.
  void push(const Event& event) { feed_.push(event); }
  /// As EventFeed::delivered_within: whether the observer has answered to all.
  bool delivered_within(std::chrono::milliseconds most) { return feed_.delivered_within(most); }

 private:
  class Turn;
  static caf::behavior relay(caf::event_based_actor* self, const observer_actor& observer,
                             const std::shared_ptr<Turn>& turn);

  std::shared_ptr<Turn> turn_;
  caf::actor relay_;
  EventFeed feed_;
};

}  // namespace muster
