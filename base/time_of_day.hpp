// A moment as people and log collectors write it.
#pragma once

#include <chrono>
#include <string>

namespace muster {

/// "2026-11-28T22:33:15.042Z": RFC 3339, UTC, milliseconds.
std::string time_of_day(std::chrono::system_clock::time_point moment);

}  // namespace muster
