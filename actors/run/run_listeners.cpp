#include "actors/run/run_listeners.hpp"

#include <unistd.h>

#include "base/bounded/line_output.hpp"

namespace muster {

namespace {
constexpr auto kLook = std::chrono::milliseconds(100), kPatience = std::chrono::milliseconds(2000);
}

RunListeners::RunListeners(const RunOptions& options, EventFeed::OnEvent keep)
    : functions_(options.on_event, options.on_progress), keeper_(std::move(keep), nullptr) {
  for (const observer_actor& observer : options.observers)
    observers_.push_back(std::make_unique<ObserverFeed>(observer));
}

void RunListeners::answer_to(const coordinator_actor& coordinator) {
  for (const auto& observer : observers_) observer->answers_to(coordinator);
}

void RunListeners::report(const Event& event) {
  functions_.push(event);
  keeper_.push(event);
  for (const auto& observer : observers_) observer->push(event);
}

void RunListeners::finish(Signals& signals) {
  wait_for(functions_, "a function of this program that is told of events has not returned", signals);
  wait_for(keeper_, "checkpoint.folder takes no more of the progress", signals);
}

void RunListeners::wait_for(EventFeed& feed, const char* why, Signals& signals) {
  for (int looks = 1; !feed.delivered_within(kLook); ++looks) {
    if (const int signal = signals.take()) ::_exit(128 + signal);
    if (looks * kLook == kPatience)
      error_output().print(std::string("muster: the run has ended; ") + why + ", and is waited for");
  }
}

}  // namespace muster
