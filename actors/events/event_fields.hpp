// How values are written into the fields of events.
#pragma once

#include <chrono>
#include <cstdint>

#include "actors/messages/view.hpp"

namespace muster {

inline std::int64_t number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

inline double milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// The field's name, too.
inline const char* kind(const NodeName& name) {
  return name.loader ? "loader" : "replica";
}

}  // namespace muster
