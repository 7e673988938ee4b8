// Builds events by the one table that defines them (event_table): docs/reference/events.md is made from it,
// and an event outside the table cannot be built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "muster/events.hpp"

namespace muster {

/// Parts of it, each in a file of its name.
std::vector<EventSpec> events_of_bits();
std::vector<EventSpec> events_of_progress();
std::vector<EventSpec> events_of_stragglers();
const EventSpec* find_event(std::string_view name);

using EventValue = std::variant<std::int64_t, double, std::string, bool>;

/// Builds an event of the table. A name or a field that the table does not have, a field of another kind, or
/// a required one that is missing, is a bug and ends the process.
Event make_event(std::string_view name, std::vector<std::pair<std::string, EventValue>> fields);

/// Adds where the node is that the event names: `host` and `address`; what is empty is left out.
void where(Event& event, const std::string& host, const std::string& address);

/// docs/reference/events.md.
std::string events_markdown();

}  // namespace muster
