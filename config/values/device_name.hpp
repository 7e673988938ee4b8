// The name of a device: "cpu:K", the K-th logical core that the process may use, or "cuda:K", the K-th
// visible GPU.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

enum class DeviceKind { cpu, cuda };

struct DeviceName {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  bool operator==(const DeviceName&) const = default;
};

/// What is allowed, in words.
inline constexpr std::string_view kDeviceAllowed = "\"cpu:K\" or \"cuda:K\", K counting from 0";

/// Nothing where the text is no such name. One device has one name: no signs, blanks or leading zeros.
std::optional<DeviceName> parse_device(std::string_view text);

std::string format_device(const DeviceName& device);

}  // namespace muster
