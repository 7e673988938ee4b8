// Events: what a user must be able to see. One table (event_table) defines each: name, meaning, when it is
// raised, by whom, with which fields. docs/events.md is made from it; an event outside the table cannot be
// built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "muster/actors/message.hpp"

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
MUSTER_MESSAGE(EventField)

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

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Event& x) {
  return inspect_as(f, "muster::Event", x.name, x.time_ms, x.fields);
}

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
/// Parts of it; events_of_bits.cpp, events_of_progress.cpp.
std::vector<EventSpec> events_of_bits();
std::vector<EventSpec> events_of_progress();
const EventSpec* find_event(std::string_view name);

using EventValue = std::variant<std::int64_t, double, std::string, bool>;

/// Builds an event of the table. A name or a field that the table does not have, a field of another kind, or
/// a required one that is missing, is a bug and ends the process.
Event make_event(std::string_view name, std::vector<std::pair<std::string, EventValue>> fields);

/// Adds where the node is that the event names: `host` and `address`; what is empty is left out.
void where(Event& event, const std::string& host, const std::string& address);

/// One line of JSON, without the newline: {"event": name, "time_ms": .., fields...}.
/// `time`: of day, for logs; none: left out.
std::string to_json_line(const Event& event, const std::string& time = {});

/// docs/events.md.
std::string events_markdown();

}  // namespace muster
