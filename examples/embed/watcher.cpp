#include "watcher.hpp"

#include <cstdio>

muster::observer_actor::behavior_type watcher(muster::observer_actor::stateful_pointer<WatcherState> self,
                                              int epochs_max) {
  return {[=](const muster::Event& event) {
    std::printf("watcher: %s\n", muster::to_json_line(event).c_str());
    std::fflush(stdout);
    if (event.name != "epoch" || ++self->state.epochs != epochs_max) return;
    // The sender of an event may be answered.
    const auto run = caf::actor_cast<muster::run_actor>(self->current_sender());
    self->send(run, muster::StopRequest{"the watcher has seen enough"});
  }};
}
