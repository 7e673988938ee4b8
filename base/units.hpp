// Durations and sizes with units: "500ms", "64MiB". A number without a unit is never taken: the reader of a
// job file must not have to guess. Pure functions; nothing is thrown.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// A value, or why there is none and, where one is near, the text that may have been meant.
template <class T>
struct ParsedUnit {
  std::optional<T> value;
  std::string why;      ///< what is wrong; empty when there is a value
  std::string nearest;  ///< such as "64MiB" for "64Mib"; may be empty
};

/// What is allowed, in words, for messages and the reference page.
inline constexpr std::string_view kDurationAllowed =
    "a whole number with a unit (ms, s, min or h), such as \"500ms\", \"2s\" or \"10min\"";
inline constexpr std::string_view kSizeAllowed =
    "a whole number with a unit (B, KiB, MiB, GiB, TiB, kB, MB, GB or TB), such as \"64MiB\"";

/// "500ms", "2s", "10min", "1h". Refuses what does not fit 2^63 - 1 milliseconds.
ParsedUnit<std::chrono::milliseconds> parse_duration(std::string_view text);

/// "100B", "512KiB", "64MiB", "1GB". MiB is 2^20 bytes, MB is 10^6 bytes. Refuses what does not fit 2^63 - 1
/// bytes.
ParsedUnit<std::uint64_t> parse_size(std::string_view text);

/// In the largest unit that divides it: 120000 ms is "2min". Reads back as the same value.
std::string format_duration(std::chrono::milliseconds duration);

/// For people, rounded: "400 ms", "1.5 s", "20 s", "10 min", "2 min 30 s", "1 h 20 min". Takes a duration of
/// any unit; NaN is "0 ms". Does not read back.
std::string human_duration(std::chrono::duration<double, std::milli> duration);

/// In the largest binary unit that divides it, else the largest decimal one: 1048576 is "1MiB", 1000 is
/// "1kB".
std::string format_size(std::uint64_t bytes);

/// For people, rounded: "62.4 MiB". Does not read back.
std::string human_size(std::uint64_t bytes);

}  // namespace muster
