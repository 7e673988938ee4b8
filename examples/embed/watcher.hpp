// An actor of one's own: it receives every event of a run as a typed message, prints it, and may ask for the
// end.
#pragma once

#include "muster/observer.hpp"

struct WatcherState {
  int epochs = 0;
};

/// Asks for the end of the run after `epochs_max` epochs; 0: never.
muster::observer_actor::behavior_type watcher(muster::observer_actor::stateful_pointer<WatcherState> self,
                                              int epochs_max);
