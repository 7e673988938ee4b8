// How often the progress of a run is told: "10 steps", "5s", or "off". Pure functions; nothing is thrown.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Either steps or a time; both 0: never.
struct ProgressEvery {
  std::uint64_t steps = 0;
  std::chrono::milliseconds time{5000};

  bool operator==(const ProgressEvery&) const = default;
};

/// Replicas tell of their steps no more often, unless it is by steps.
inline constexpr std::chrono::milliseconds kProgressTimeMin{200};

inline constexpr std::string_view kProgressEveryAllowed =
    "\"off\", steps or a time of at least 200 ms, such as \"10 steps\", \"500ms\" or \"1min\"";

std::optional<ProgressEvery> parse_progress_every(std::string_view text);

/// Reads back as the same value.
std::string format_progress_every(const ProgressEvery& every);

}  // namespace muster
