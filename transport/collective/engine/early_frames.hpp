// Headers of views that this node has not heard of yet: a faster member may greet before. They are kept,
// within bounds, until their view is installed.
//
// What is refused here does not come again: this node then counts as lost, when its time to enter the view is
// over.
//
// Thread rule: that of the engine, which it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "transport/frame.hpp"

namespace muster {

class EarlyFrames {
 public:
  /// One from each replica that a job may have.
  static constexpr std::size_t kFramesMax = std::size_t{1} << 16;
  static constexpr std::size_t kBytesMax = std::size_t{8} << 20;

  struct Held {
    Frame frame;
    std::vector<std::byte> payload;
    bool whole = false;
  };
  struct Place {
    std::span<std::byte> bytes;  ///< stays where it is until the frame is taken or dropped; empty: refused
    std::string wrong;           ///< why; said of the first one of its view
  };

  Place place(const Frame& frame);
  /// Whether this payload was placed here: then it is whole now.
  bool arrived(std::span<const std::byte> payload);
  /// It will not come. Returns false if none of these is on its way.
  bool dropped(const Frame& frame);
  /// It will not come, but its place may still be written to: that memory is given up. `dropped` follows.
  void abandoned(const Frame& frame);
  /// Those that are whole, of this view and of older ones, in the order in which they came.
  std::vector<Held> take(std::uint32_t view);
  bool empty() const { return held_.empty(); }

 private:
  std::vector<Held> held_;
  std::size_t bytes_ = 0;
  std::uint32_t refused_view_ = 0;
};

}  // namespace muster
