#include "config/values/address.hpp"

#include <charconv>

namespace muster {

bool parse_address(const std::string& text, std::string& host, std::uint16_t& port) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const std::string digits = text.substr(colon + 1);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number == 0 || number > 65535)
    return false;
  port = static_cast<std::uint16_t>(number);
  return true;
}

std::optional<std::string> address_in_url(const std::string& text) {
  const auto scheme = text.find("://");
  if (scheme == std::string::npos) return std::nullopt;
  const auto begin = scheme + 3;
  return text.substr(begin, text.find('/', begin) - begin);
}

std::string address_text(const std::string& host, std::uint16_t port) {
  const bool in_brackets = host.find(':') != std::string::npos;
  return (in_brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

bool is_any_address(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

}  // namespace muster
