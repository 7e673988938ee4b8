// Frames whose check is right, whatever else is in them: decoders behind the check are reached.
#pragma once

#include "tests/fuzz/fuzz.hpp"
#include "transport/frame.hpp"

namespace muster::fuzz {

/// What begins with a frame gets its check. `magic`: of a frame that does not begin with that of frames.
inline Frame with_check(Input bytes, std::uint32_t magic = kFrameMagic) {
  Frame frame;
  std::memcpy(&frame, bytes.data(), sizeof frame);
  if (frame.magic != magic) return frame;
  frame.magic = kFrameMagic;
  frame = checked(frame);
  frame.magic = magic;
  return frame;
}

/// A stream of frames and payloads, each of which takes whole multiples of `line`.
inline Bytes with_checks(Input input, std::size_t line = 1, std::uint32_t borrowed_magic = kFrameMagic) {
  Bytes stream(input.begin(), input.end());
  for (std::size_t at = 0; stream.size() - at >= sizeof(Frame);) {
    const Input here = std::span(stream).subspan(at);
    Frame frame = with_check(here);
    const bool borrowed = frame.magic == borrowed_magic && borrowed_magic != kFrameMagic;
    if (borrowed) frame = with_check(here, borrowed_magic);
    std::memcpy(stream.data() + at, &frame, sizeof frame);
    const std::size_t payload = borrowed ? line : (frame.bytes + line - 1) / line * line;
    at += std::min(sizeof frame + payload, stream.size() - at);
  }
  return stream;
}

}  // namespace muster::fuzz
