// What one who reads events is told where others were left out, because it was too slow.
#pragma once

#include <cstdint>

#include "actors/events/event.hpp"

namespace muster {

/// `time_ms`: of the first event after those, or of the last of them.
inline Event missed_event(std::uint64_t count, double time_ms) {
  Event event = make_event("missed", {{"count", static_cast<std::int64_t>(count)}});
  event.time_ms = time_ms;
  return event;
}

}  // namespace muster
