#include "muster/actors/run_listeners.hpp"

#include <unistd.h>

namespace muster {

RunListeners::RunListeners(const RunOptions& options, EventFeed::OnEvent keep)
    : functions_(options.on_event, options.on_progress), keeper_(std::move(keep), nullptr) {
  for (const observer_actor& observer : options.observers)
    observers_.push_back(std::make_unique<ObserverFeed>(observer));
}

void RunListeners::answer_to(const coordinator_actor& coordinator) {
  for (const auto& observer : observers_) observer->answers_to(coordinator);
}

void RunListeners::tell(const Event& event) {
  functions_.push(event);
  keeper_.push(event);
  for (const auto& observer : observers_) observer->push(event);
}

void RunListeners::finish(Signals& signals) {
  for (EventFeed* feed : {&functions_, &keeper_}) {
    while (!feed->told_within(std::chrono::milliseconds(100))) {
      if (const int signal = signals.take()) ::_exit(128 + signal);
    }
  }
}

}  // namespace muster
