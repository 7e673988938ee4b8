#include "actors/run/observer_feed.hpp"

#include "base/mutex.hpp"

namespace muster {

/// Whose turn it is: the observer's, until it has answered.
class ObserverFeed::Turn {
 public:
  void wait_for_answer() {
    const MutexLock lock(mutex_);
    while (!answered_ && !ends_) changed_.wait(mutex_);
    answered_ = false;
  }
  void answered() {
    const MutexLock lock(mutex_);
    answered_ = true;
    changed_.notify_all();
  }
  /// Nobody waits any more.
  void end() {
    const MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  void answers_to(const coordinator_actor& coordinator) {
    const MutexLock lock(mutex_);
    coordinator_ = caf::actor_cast<caf::actor_addr>(coordinator);
    if (asked_) caf::anon_send(coordinator, *asked_);
  }
  void pass_on(const StopRequest& request) {
    const MutexLock lock(mutex_);
    asked_ = request;
    // Without a sender, or the coordinator would run on the observer's scheduler.
    if (const auto coordinator = caf::actor_cast<coordinator_actor>(coordinator_))
      caf::anon_send(coordinator, request);
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  caf::actor_addr coordinator_ MUSTER_GUARDED_BY(mutex_);
  std::optional<StopRequest> asked_ MUSTER_GUARDED_BY(mutex_);
  bool answered_ MUSTER_GUARDED_BY(mutex_) = false;
  bool ends_ MUSTER_GUARDED_BY(mutex_) = false;
};

caf::behavior ObserverFeed::relay(caf::event_based_actor* self, const observer_actor& observer,
                                  const std::shared_ptr<Turn>& turn) {
  const auto answered = [turn] { turn->answered(); };
  return {[=](const Event& event) {
            // One that has ended answers with an error, and so does one that throws.
            self->request(observer, caf::infinite, event).then(answered, [answered](const caf::error&) {
              answered();
            });
          },
          [turn](const StopRequest& request) { turn->pass_on(request); },
          [self](caf::flush_atom) { self->quit(); }};
}

ObserverFeed::ObserverFeed(const observer_actor& observer, std::size_t waiting_max)
    : turn_(std::make_shared<Turn>()),
      relay_(caf::actor_cast<caf::strong_actor_ptr>(observer)->home_system->spawn(
          [observer, turn = turn_](caf::event_based_actor* self) { return relay(self, observer, turn); })),
      feed_(
          [this](const Event& event) {
            caf::anon_send(relay_, event);
            turn_->wait_for_answer();
          },
          nullptr, waiting_max) {}

ObserverFeed::~ObserverFeed() {
  turn_->end();
  feed_.finish();
  caf::anon_send(relay_, caf::flush_atom::value);
}

void ObserverFeed::answers_to(const coordinator_actor& coordinator) {
  turn_->answers_to(coordinator);
}

}  // namespace muster
