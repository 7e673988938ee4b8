// The words of a frame's body as they cross the wire. For the bodies in this folder, which give them names
// and types, and for tests that send what no member sends.
#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "transport/frame.hpp"

namespace muster {

struct RawWords {
  std::uint64_t at_32 = 0;
  std::uint32_t at_48 = 0;
  std::uint32_t at_52 = 0;
  std::uint64_t at_56 = 0;

  static RawWords of(const Frame& frame) {
    return {frame.at_32.value_, frame.at_48.value_, frame.at_52.value_, frame.at_56.value_};
  }
  void put_into(Frame& frame) const {
    frame.at_32.value_ = at_32;
    frame.at_48.value_ = at_48;
    frame.at_52.value_ = at_52;
    frame.at_56.value_ = at_56;
  }
};

/// A body is read only from a frame of its kind.
template <typename... Kinds>
RawWords words_of(const Frame& frame, Kinds... kinds) {
  MUSTER_CHECK(((frame.kind == kinds) || ...), static_cast<unsigned>(frame.kind));
  return RawWords::of(frame);
}

inline void put_words(Frame& frame, FrameKind kind, const RawWords& words) {
  frame.kind = kind;
  words.put_into(frame);
}

/// A frame with this body; whoever sends it fills in the rest.
template <typename Body>
Frame frame_with(const Body& body) {
  Frame frame;
  body.put_into(frame);
  return frame;
}

}  // namespace muster
