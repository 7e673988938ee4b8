#include "muster/intervals.hpp"

#include "base/units.hpp"

namespace muster {

std::optional<ProgressEvery> parse_progress_every(std::string_view text) {
  if (text == "off") return ProgressEvery{0, {}};
  if (const auto interval = parse_interval(text)) {
    if (interval->unit != Interval::Unit::steps) return std::nullopt;
    return ProgressEvery{interval->count, {}};
  }
  const auto time = parse_duration(text).value;
  if (!time || *time < kProgressTimeMin) return std::nullopt;
  return ProgressEvery{0, *time};
}

std::string format_progress_every(const ProgressEvery& every) {
  if (every.steps > 0) return format_interval({every.steps, Interval::Unit::steps});
  return every.time.count() > 0 ? format_duration(every.time) : "off";
}

}  // namespace muster
