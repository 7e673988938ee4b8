#include "transport/collective/engine/loading_watch.hpp"

namespace muster {

LoadingSight LoadingWatch::sight(PeerId loader, const Liveness& liveness, const DemandBook& demands,
                                 Time now) const {
  LoadingSight sight;
  sight.now = now;
  sight.loader.peer = loader;
  liveness.describe(sight.loader, now);
  sight.owes = liveness.owes(loader);
  sight.unanswered = demands.unanswered(loader).size();
  sight.asked_at = demands.asked_at(loader).value_or(now);
  sight.waiting_since = since_;
  sight.median_step = liveness.median_step();
  return sight;
}

}  // namespace muster
