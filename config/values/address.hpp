// HOST:PORT, as people write it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

/// HOST:PORT, or [HOST]:PORT. False if it is none.
bool parse_address(const std::string& text, std::string& host, std::uint16_t& port);

/// "host2:7100" of "http://host2:7100/x", for a message; nothing if the text is no URL.
std::optional<std::string> address_in_url(const std::string& text);

/// The same, written.
std::string address_text(const std::string& host, std::uint16_t port);

/// Whether an address reaches no further than this machine.
bool is_loopback(const std::string& host);

/// Whether it stands for every address of a machine, to listen on: 0.0.0.0 or ::.
bool is_any_address(const std::string& host);

}  // namespace muster
