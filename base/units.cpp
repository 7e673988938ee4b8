#include "base/units.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "base/nearest.hpp"
#include "base/text.hpp"

namespace muster {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// Largest first within binary and within decimal: formatting takes the first that divides.
constexpr Unit kDurationUnits[] = {{"h", 3'600'000}, {"min", 60'000}, {"s", 1'000}, {"ms", 1}};
constexpr Unit kSizeUnits[] = {
    {"TiB", 1ull << 40}, {"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10}, {"TB", 1000000000000},
    {"GB", 1000000000},  {"MB", 1000000},     {"kB", 1000},        {"KB", 1000},        {"B", 1}};

ParsedUnit<std::uint64_t> refuse(std::string why, std::string nearest = {}) {
  return {std::nullopt, std::move(why), std::move(nearest)};
}

ParsedUnit<std::uint64_t> parse_with_unit(std::string_view text, std::span<const Unit> units) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument) {
    return refuse("does not start with a whole number");
  }
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(rest - text.data()));
  std::string_view name = text.substr(digits.size());
  while (!name.empty() && name.front() == ' ') {
    name.remove_prefix(1);
  }
  std::vector<std::string> names;
  for (const Unit& unit : units) {
    names.emplace_back(unit.name);
    if (name != unit.name) {
      continue;
    }
    if (error == std::errc::result_out_of_range || number > kMost / unit.factor) {
      return refuse("too large");
    }
    return {number * unit.factor, {}, {}};
  }
  if (name.empty()) {
    return refuse("has no unit");
  }
  const std::string near = nearest(name, names);
  return refuse("unknown unit " + in_quotes(shortened(std::string(name), 20)),
                near.empty() ? "" : std::string(digits) + near);
}

std::string format_with_unit(std::uint64_t amount, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (amount != 0 && amount % unit.factor == 0) {
      return std::to_string(amount / unit.factor) + std::string(unit.name);
    }
  }
  return "0" + std::string(units.back().name);
}

}  // namespace

ParsedUnit<std::chrono::milliseconds> parse_duration(std::string_view text) {
  ParsedUnit<std::uint64_t> parsed = parse_with_unit(text, kDurationUnits);
  ParsedUnit<std::chrono::milliseconds> result{{}, std::move(parsed.why), std::move(parsed.nearest)};
  if (parsed.value) {
    result.value = std::chrono::milliseconds(static_cast<std::int64_t>(*parsed.value));
  }
  return result;
}

ParsedUnit<std::uint64_t> parse_size(std::string_view text) {
  return parse_with_unit(text, kSizeUnits);
}

std::string format_duration(std::chrono::milliseconds duration) {
  if (duration.count() < 0) {
    return "-" + format_with_unit(-static_cast<std::uint64_t>(duration.count()), kDurationUnits);
  }
  return format_with_unit(static_cast<std::uint64_t>(duration.count()), kDurationUnits);
}

std::string human_duration(std::chrono::duration<double, std::milli> duration) {
  constexpr double kMost = 1e15;  // 30,000 years
  const double given = std::isnan(duration.count()) ? 0 : std::clamp(duration.count(), -kMost, kMost);
  if (given <= -0.5) return "-" + human_duration(-duration);
  const auto in_units_of = [given](double ms) { return std::llround(given / ms); };
  const auto two = [](long long amount, long long factor, const char* large, const char* small) {
    const std::string text = std::to_string(amount / factor) + large;
    return amount % factor == 0 ? text : text + " " + std::to_string(amount % factor) + small;
  };
  if (const auto ms = in_units_of(1); ms < 1000) return std::to_string(ms) + " ms";
  if (const auto tenths = in_units_of(100); tenths < 1200)
    return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " s";
  if (const auto seconds = in_units_of(1000); seconds < 3600) return two(seconds, 60, " min", " s");
  return two(in_units_of(60000), 60, " h", " min");
}

std::string format_size(std::uint64_t bytes) {
  return format_with_unit(bytes, kSizeUnits);
}

std::string human_size(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace muster
