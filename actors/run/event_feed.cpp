#include "actors/run/event_feed.hpp"

#include <exception>
#include <string>

#include "actors/events/missed_event.hpp"
#include "base/bounded/line_output.hpp"

namespace muster {

EventFeed::EventFeed(OnEvent on_event, OnProgress on_progress, std::size_t waiting_max)
    : on_event_(std::move(on_event)),
      on_progress_(std::move(on_progress)),
      feed_({[this](const Event& event) { tell([&] { on_event_(event); }); },
             [this](const std::pair<Progress, DataFacts>& news) {
               tell([&] { on_progress_(news.first, news.second); });
             },
             [](std::uint64_t count, const Event& beside) { return missed_event(count, beside.time_ms); }},
            waiting_max) {}

void EventFeed::push(const Event& event) {
  if (on_event_) feed_.push(event);
}

void EventFeed::push(const Progress& progress, const DataFacts& facts) {
  if (on_progress_) feed_.replace({progress, facts});
}

template <class Tell>
void EventFeed::tell(const Tell& tell) {
  if (has_thrown_) return;
  const std::string said =
      "muster: a function that is told what happens in the run has thrown, and is called no more: ";
  try {
    return tell();
  } catch (const std::exception& error) {
    error_output().print(said + error.what());
  } catch (...) {
    error_output().print(said + "something that is no std::exception");
  }
  has_thrown_ = true;
}

}  // namespace muster
