#include "muster/intervals.hpp"

#include <charconv>
#include <limits>

namespace muster {

std::optional<Interval> parse_interval(std::string_view text) {
  Interval interval;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, interval.count);
  if (error != std::errc{} || interval.count == 0 ||
      interval.count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit == " epoch" || unit == " epochs") {
    interval.unit = Interval::Unit::epochs;
  } else if (unit == " step" || unit == " steps") {
    interval.unit = Interval::Unit::steps;
  } else {
    return std::nullopt;
  }
  return interval;
}

std::string format_interval(const Interval& interval) {
  std::string text = std::to_string(interval.count);
  text += interval.unit == Interval::Unit::epochs ? " epoch" : " step";
  return interval.count == 1 ? text : text + "s";
}

}  // namespace muster
