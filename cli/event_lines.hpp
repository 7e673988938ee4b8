// What of a run's events people read on the terminal.
#pragma once

#include <optional>
#include <string>

#include "actors/events/event.hpp"

namespace muster::cli {

struct EventLine {
  std::string text;    ///< without an end of line
  bool always = true;  ///< false: not with --quiet, which leaves losses, pauses, failures and notices
};

/// None: of an event that is no news, or has a line of its own (`epoch`).
std::optional<EventLine> line_of(const Event& event);

}  // namespace muster::cli
