// "7200-7299": ports of a host, the first and the last one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

struct PortRange {
  std::uint16_t first = 0, last = 0;  ///< 0, 0: any port that the kernel chooses

  bool any() const { return first == 0; }
  bool operator==(const PortRange&) const = default;
};

/// "A-B", or "A" for one port alone; 1 to 65535, A <= B; empty: any. Nothing if the text is none of these.
std::optional<PortRange> parse_port_range(const std::string& text);

}  // namespace muster
