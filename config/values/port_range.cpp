#include "config/values/port_range.hpp"

#include <charconv>

namespace muster {

namespace {

std::optional<std::uint16_t> parse_port(const char* begin, const char* end) {
  unsigned port = 0;
  const auto [stop, error] = std::from_chars(begin, end, port);
  if (error != std::errc() || stop != end || port == 0 || port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

}  // namespace

std::optional<PortRange> parse_port_range(const std::string& text) {
  if (text.empty()) return PortRange{};
  const auto dash = text.find('-');
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto first = parse_port(begin, dash == std::string::npos ? end : begin + dash);
  const auto last = dash == std::string::npos ? first : parse_port(begin + dash + 1, end);
  if (!first || !last || *first > *last) return std::nullopt;
  return PortRange{*first, *last};
}

}  // namespace muster
