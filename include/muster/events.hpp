// Events: what a user must be able to see. docs/reference/events.md lists them: name, meaning, when each is
// raised, by whom, with which fields. Plain values; an observer (observer.hpp) receives them as messages.
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
  std::string key;           ///< name of the field, as in the table
  std::uint8_t kind = 0;     ///< 0 integer, 1 number, 2 text, 3 boolean
  std::int64_t integer = 0;  ///< value of kinds 0 and 3
  double number = 0;         ///< value of kind 1
  std::string text;          ///< value of kind 2

  bool operator==(const EventField&) const = default;
  static auto fields(EventField& x) { return std::tie(x.key, x.kind, x.integer, x.number, x.text); }
};

/// A typed message to every subscriber, a line of `--events`, an entry of the report.
struct Event {
  std::string name;                ///< one of event_table()
  double time_ms = 0;              ///< since the run began, by the coordinator's clock
  std::vector<EventField> fields;  ///< in the order of the table; optional ones may be missing

  /// The value of a field, or the default if the event has none of that name and kind.
  std::int64_t integer(std::string_view key, std::int64_t otherwise = -1) const;
  /// As `integer`, for a field of kind number.
  double number(std::string_view key, double otherwise = 0) const;
  /// As `integer`, for a field of kind text; empty if there is none.
  std::string text(std::string_view key) const;
  /// Whether the event has a field of this name, of any kind.
  bool has(std::string_view key) const;

  bool operator==(const Event&) const = default;
};

/// One line of JSON, without the newline: {"event": name, "time_ms": .., fields...}.
/// `time`: of day, for logs; none: left out.
std::string to_json_line(const Event& event, const std::string& time = {});

/// One field in the table of events.
struct EventFieldSpec {
  std::string key;      ///< name of the field
  std::uint8_t kind;    ///< as in EventField
  bool required;        ///< whether each event of this name has it
  std::string meaning;  ///< one phrase, with the unit
};

/// One row of the table of events: a name, and what it stands for.
struct EventSpec {
  std::string name;                    ///< as in Event
  std::string meaning;                 ///< one sentence
  std::string when;                    ///< on which occasion it is raised
  std::string by;                      ///< which part of the run raises it
  std::vector<EventFieldSpec> fields;  ///< in the order in which an event has them
};

/// All events that a run can raise. Constant; may be read from any thread.
const std::vector<EventSpec>& event_table();

}  // namespace muster
