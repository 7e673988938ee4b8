#include "muster/actors/run_listeners.hpp"

#include <unistd.h>

namespace muster {

RunListeners::RunListeners(const RunOptions& options) : functions_(options.on_event, options.on_progress) {
  for (const observer_actor& observer : options.observers)
    observers_.push_back(std::make_unique<ObserverFeed>(observer));
}

void RunListeners::answer_to(const coordinator_actor& coordinator) {
  for (const auto& observer : observers_) observer->answers_to(coordinator);
}

void RunListeners::tell(const Event& event) {
  functions_.push(event);
  for (const auto& observer : observers_) observer->push(event);
}

void RunListeners::finish(Signals& signals) {
  while (!functions_.told_within(std::chrono::milliseconds(100))) {
    if (const int signal = signals.take()) ::_exit(128 + signal);
  }
}

}  // namespace muster
