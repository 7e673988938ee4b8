#include "watcher.hpp"

#include <cstdio>

muster::observer_actor::behavior_type watcher(muster::observer_actor::stateful_pointer<WatcherState> self,
                                              int epochs_max) {
  return {[=](const muster::Event& event) {
    std::printf("watcher: %s\n", muster::to_json_line(event).c_str());
    std::fflush(stdout);
    if (event.name != "epoch" || ++self->state.epochs != epochs_max) return;
    // The sender of an event is the coordinator; it may be answered.
    const auto coordinator = caf::actor_cast<muster::coordinator_actor>(self->current_sender());
    self->send(coordinator, muster::StopRequest{"the watcher has seen enough"});
  }};
}
