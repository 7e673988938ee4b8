// What comes to an engine in one message, each in a buffer of its own: micro-batches, and elements of an
// optimizer.
//
// Thread rule: that of the engine, which it belongs to.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "transport/transport.hpp"

namespace muster {

inline bool comes_whole(FrameKind kind) {
  return kind == FrameKind::batch || kind == FrameKind::part || kind == FrameKind::gathered;
}

class WholeMessages {
 public:
  /// A buffer for the payload; stays where it is until the message is taken or dropped.
  std::span<std::byte> place(const Frame& frame);
  /// It has come. Nothing if it was not placed here.
  std::optional<std::vector<std::byte>> take(std::span<const std::byte> payload);
  /// It will not come.
  void dropped(const Frame& frame);
  /// It will not come, but its buffer may still be written to: that memory is given up. `dropped` follows.
  void abandoned(const Frame& frame);
  /// Whether a micro-batch of this peer has begun to arrive.
  bool batch_arrives_from(PeerId peer) const;

 private:
  struct Arriving {
    Frame frame;
    std::vector<std::byte> bytes;
  };

  std::map<const std::byte*, Arriving> arriving_;  // by place
};

}  // namespace muster
