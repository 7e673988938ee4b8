#include "actors/run/event_feed.hpp"

#include <cstdio>
#include <exception>

#include "actors/events/missed_event.hpp"

namespace muster {

EventFeed::EventFeed(OnEvent on_event, OnProgress on_progress, std::size_t waiting_max)
    : on_event_(std::move(on_event)),
      on_progress_(std::move(on_progress)),
      waiting_max_(waiting_max),
      thread_([this] { run(); }) {}

void EventFeed::finish() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EventFeed::push(const Event& event) {
  if (!on_event_) return;
  {
    const MutexLock lock(mutex_);
    if (waiting_.size() >= waiting_max_) {
      ++missed_;
      return;
    }
    if (missed_ > 0) waiting_.push_back(missed_event(std::exchange(missed_, 0), event.time_ms));
    waiting_.push_back(event);
  }
  changed_.notify_all();
}

void EventFeed::push(const Progress& progress, const DataFacts& facts) {
  if (!on_progress_) return;
  {
    const MutexLock lock(mutex_);
    progress_.emplace(progress, facts);
  }
  changed_.notify_all();
}

bool EventFeed::delivered_within(std::chrono::milliseconds most) {
  const MutexLock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + most;
  while (!(idle() && missed_ == 0)) {
    if (!changed_.wait_until(mutex_, deadline)) return idle() && missed_ == 0;
  }
  return true;
}

void EventFeed::report(const std::optional<Event>& event,
                       const std::optional<std::pair<Progress, DataFacts>>& progress) {
  if (has_thrown_) return;
  const char* const said =
      "muster: a function that is told what happens in the run has thrown, and is called no more: ";
  try {
    if (event) on_event_(*event);
    if (progress) on_progress_(progress->first, progress->second);
    return;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s%s\n", said, error.what());
  } catch (...) {
    std::fprintf(stderr, "%ssomething that is no std::exception\n", said);
  }
  has_thrown_ = true;
}

void EventFeed::run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!ends_ && waiting_.empty() && !progress_) changed_.wait(mutex_);
    if (waiting_.empty() && !progress_) return;
    std::optional<Event> event;
    std::optional<std::pair<Progress, DataFacts>> progress;
    if (waiting_.empty()) {
      progress.swap(progress_);
    } else {
      event = std::move(waiting_.front());
      waiting_.pop_front();
      // Nobody may push after it.
      if (waiting_.empty() && missed_ > 0)
        waiting_.push_back(missed_event(std::exchange(missed_, 0), event->time_ms));
    }
    reporting_ = true;
    lock.unlock();
    report(event, progress);
    lock.lock();
    reporting_ = false;
    if (idle()) changed_.notify_all();
  }
}

}  // namespace muster
