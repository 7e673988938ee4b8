#include "muster/transport/frame.hpp"

#include <bit>

namespace muster {

static_assert(std::endian::native == std::endian::little,
              "frames are little endian, and are copied as they lie");

std::optional<Frame> decode_frame(std::span<const std::byte> bytes, std::string& why) {
  if (bytes.size() != sizeof(Frame)) {
    why = "a header of " + std::to_string(bytes.size()) + " bytes, not " + std::to_string(sizeof(Frame));
    return std::nullopt;
  }
  Frame frame;
  std::memcpy(&frame, bytes.data(), sizeof frame);
  if (frame.magic != kFrameMagic) {
    why = "not a Muster frame";
  } else if (frame.version != kProtocolVersion) {
    why = "protocol version " + std::to_string(frame.version) + ", this node speaks " +
          std::to_string(kProtocolVersion);
  } else if (frame.kind < FrameKind::header || frame.kind > FrameKind::carried) {
    why = "unknown frame kind " + std::to_string(static_cast<unsigned>(frame.kind));
  } else if (frame.bytes > kPayloadBytesMax) {
    why = "a payload of " + std::to_string(frame.bytes) + " bytes, more than " +
          std::to_string(kPayloadBytesMax);
  } else {
    return frame;
  }
  return std::nullopt;
}

}  // namespace muster
