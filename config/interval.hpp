// A distance in a run, in its own units: "500 steps", "1 epoch". Pure functions; nothing is thrown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct Interval {
  enum class Unit { epochs, steps };

  std::uint64_t count = 1;
  Unit unit = Unit::epochs;

  bool operator==(const Interval&) const = default;
};

inline constexpr std::string_view kIntervalAllowed =
    "a whole number of at least 1 with \"steps\" or \"epochs\", such as \"500 steps\" or \"1 epoch\"";

/// Takes one and many alike: "1 epoch", "2 epochs", "1 epochs".
std::optional<Interval> parse_interval(std::string_view text);

/// Reads back as the same value.
std::string format_interval(const Interval& interval);

}  // namespace muster
