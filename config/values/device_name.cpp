#include "config/values/device_name.hpp"

#include <charconv>

namespace muster {

std::optional<DeviceName> parse_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  DeviceName device;
  if (text.substr(0, colon) == "cuda") {
    device.kind = DeviceKind::cuda;
  } else if (text.substr(0, colon) != "cpu") {
    return std::nullopt;
  }
  const std::string_view digits = text.substr(colon + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
  return device.index >= 0 && format_device(device) == text ? std::optional(device) : std::nullopt;
}

std::string format_device(const DeviceName& device) {
  return (device.kind == DeviceKind::cuda ? "cuda:" : "cpu:") + std::to_string(device.index);
}

}  // namespace muster
