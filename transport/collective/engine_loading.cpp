// How an engine looks at the loaders on other nodes that its own node waits for.
#include <algorithm>

#include "transport/collective/engine.hpp"

namespace muster {

// Whether this node does nothing but wait for micro-batches, and none has come since the last tick.
bool Engine::loads_still() {
  const ProgressStatus status = hooks_.progress ? hooks_.progress() : ProgressStatus{};
  const bool still = status.activity == Activity::loading && status == loading_;
  if (!still) loading_since_ = now();
  loading_ = status;
  return still;
}

// While nobody waits, nobody asks.
void Engine::look_at_loaders() {
  if (!hooks_.starved || !loads_still() || closing_) return;
  for (const PeerId loader : demands_.waited_for()) {
    LoadingSight sight = sight_of(loader);  // of the question before
    ask_for_life(loader);
    hooks_.starved(std::move(sight));
  }
}

LoadingSight Engine::sight_of(PeerId loader) const {
  LoadingSight sight;
  sight.view = view_;
  sight.now = now();
  sight.loader.peer = loader;
  liveness_.describe(sight.loader, sight.now);
  sight.owes = liveness_.owes(loader);
  sight.unanswered = demands_.unanswered(loader).size();
  sight.arriving = batch_arrives_from(loader);
  sight.asked_at = demands_.asked_at(loader).value_or(sight.now);
  sight.waiting_since = loading_since_;
  sight.median_step = liveness_.median_step();
  return sight;
}

bool Engine::batch_arrives_from(PeerId peer) const {
  return std::any_of(arriving_.begin(), arriving_.end(), [&](const auto& place) {
    return place.second.frame.from == peer && place.second.frame.kind == FrameKind::batch;
  });
}

void Engine::ask_again(PeerId loader) {
  for (const DemandBody& demand : demands_.unanswered(loader)) send_loading(loader, frame_with(demand), {});
}

}  // namespace muster
