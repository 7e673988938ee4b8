// What a node sends: counted where it is handed to the transport, by what it is and by whether it leaves the
// host.
#pragma once

#include <cstdint>
#include <tuple>

#include "muster/transport/frame.hpp"

namespace muster {

/// What was handed over for one way.
struct Sent {
  std::uint64_t frames = 0;  ///< each with a header of sizeof(Frame) bytes, which is counted nowhere else
  std::uint64_t payload_bytes = 0;  ///< of sums and results: what docs/collectives.md has formulas for
  std::uint64_t word_bytes = 0;     ///< of the words of rounds: headers and losses
  std::uint64_t other_bytes = 0;    ///< micro-batches, records, states

  static auto fields(Sent& x) { return std::tie(x.frames, x.payload_bytes, x.word_bytes, x.other_bytes); }

  void count(const Frame& frame, std::uint64_t bytes) {
    ++frames;
    switch (frame.kind) {
      case FrameKind::contribution:
      case FrameKind::result:
      case FrameKind::reduced:
        payload_bytes += bytes;
        break;
      case FrameKind::header:
      case FrameKind::metrics:
        word_bytes += bytes;
        break;
      default:
        other_bytes += bytes;
    }
  }
  Sent& operator+=(const Sent& more) {
    frames += more.frames;
    payload_bytes += more.payload_bytes;
    word_bytes += more.word_bytes;
    other_bytes += more.other_bytes;
    return *this;
  }
  /// `before`: an earlier count of the same.
  Sent since(const Sent& before) const {
    return {frames - before.frames, payload_bytes - before.payload_bytes, word_bytes - before.word_bytes,
            other_bytes - before.other_bytes};
  }
  bool operator==(const Sent&) const = default;
};

struct Traffic {
  Sent within_host;    ///< to processes of the same host
  Sent between_hosts;  ///< to all others

  static auto fields(Traffic& x) { return std::tie(x.within_host, x.between_hosts); }

  Traffic& operator+=(const Traffic& more) {
    within_host += more.within_host;
    between_hosts += more.between_hosts;
    return *this;
  }
  Traffic since(const Traffic& before) const {
    return {within_host.since(before.within_host), between_hosts.since(before.between_hosts)};
  }
  bool operator==(const Traffic&) const = default;
};

}  // namespace muster
