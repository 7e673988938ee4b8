#include "muster/intervals.hpp"

#include <charconv>
#include <limits>

namespace muster {

std::optional<Rate> parse_rate(std::string_view text) {
  constexpr std::string_view kBegin = "1 in ";
  if (text == "off") return Rate{};
  if (!text.starts_with(kBegin)) return std::nullopt;
  text.remove_prefix(kBegin.size());
  Rate rate;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), rate.every);
  if (error != std::errc{} || rate.every == 0 ||
      rate.every > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  if (unit != " steps" && unit != " step") return std::nullopt;
  return rate;
}

std::string format_rate(const Rate& rate) {
  return rate.every == 0 ? "off" : "1 in " + std::to_string(rate.every) + " steps";
}

}  // namespace muster
