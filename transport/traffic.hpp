// What a node sends: counted where it is handed to the transport, by what it is and by whether it leaves the
// host.
#pragma once

#include <cstdint>

#include "muster/progress.hpp"
#include "transport/frame.hpp"

namespace muster {

/// Counts a frame with so many bytes behind its header.
inline void count(Sent& sent, const Frame& frame, std::uint64_t bytes) {
  ++sent.frames;
  switch (frame.kind) {
    case FrameKind::contribution:
    case FrameKind::result:
    case FrameKind::reduced:
      sent.payload_bytes += bytes;
      break;
    case FrameKind::header:
    case FrameKind::metrics:
      sent.metadata_bytes += bytes;
      break;
    default:
      sent.other_bytes += bytes;
  }
}

}  // namespace muster
