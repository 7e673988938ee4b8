// Events: what a user must be able to see. docs/events.md lists them: name, meaning, when each is raised, by
// whom, with which fields. Plain values; an observer (observer.hpp) receives them as messages.
//
//   #include "muster/run.hpp"
//
//   void listen(muster::RunOptions& options) {
//     options.on_event = [](const muster::Event& event) {
//       if (event.name != "lost" || !event.has("replica")) return;
//       std::printf("lost replica %lld: %s\n", static_cast<long long>(event.integer("replica")),
//                   event.text("reason").c_str());
//     };
//   }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace muster {

/// One named value of an event. `kind` says which member holds: 0 integer, 1 number, 2 text, 3 boolean
/// (integer 0 or 1).
struct EventField {
  std::string key;
  std::uint8_t kind = 0;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;

  bool operator==(const EventField&) const = default;
  static auto fields(EventField& x) { return std::tie(x.key, x.kind, x.integer, x.number, x.text); }
};

/// A typed message to every subscriber, a line of `--events`, an entry of the report.
struct Event {
  std::string name;
  double time_ms = 0;  ///< since the run began, by the coordinator's clock
  std::vector<EventField> fields;

  /// The value of a field, or the default if the event has none of that name and kind.
  std::int64_t integer(std::string_view key, std::int64_t otherwise = -1) const;
  double number(std::string_view key, double otherwise = 0) const;
  std::string text(std::string_view key) const;
  bool has(std::string_view key) const;

  bool operator==(const Event&) const = default;
};

/// One line of JSON, without the newline: {"event": name, "time_ms": .., fields...}.
/// `time`: of day, for logs; none: left out.
std::string to_json_line(const Event& event, const std::string& time = {});

/// The table of all events: one row for a name.
struct EventFieldSpec {
  std::string key;
  std::uint8_t kind;
  bool required;
  std::string meaning;
};

struct EventSpec {
  std::string name;
  std::string meaning;
  std::string when;
  std::string by;
  std::vector<EventFieldSpec> fields;
};

const std::vector<EventSpec>& event_table();

}  // namespace muster
