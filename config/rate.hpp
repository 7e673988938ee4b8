// How often something is done on the steps of a run: "1 in 256 steps", or "off". Pure functions; nothing is
// thrown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct Rate {
  std::uint64_t every = 0;  ///< steps; 0: never

  bool operator==(const Rate&) const = default;
};

inline constexpr std::string_view kRateAllowed =
    "\"off\", or \"1 in N steps\" with a whole number N of at least 1, such as \"1 in 256 steps\"";

std::optional<Rate> parse_rate(std::string_view text);

/// Reads back as the same value.
std::string format_rate(const Rate& rate);

}  // namespace muster
