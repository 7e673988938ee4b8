// The body of the answer to a `ping` (round_bodies.hpp says what a body is). A ping has none.
#pragma once

#include <cstdint>
#include <string>

#include "transport/frames/raw_words.hpp"

namespace muster {

/// `status`: what the member is doing, as a ProgressStatus (collective/rounds/progress.hpp) has it; no
/// payload.
struct StatusBody {
  static constexpr std::uint32_t kActivities = 6;

  std::uint32_t activity = 0;  ///< below kActivities
  std::uint32_t shard = 0;
  std::uint64_t counter = 0;
  std::uint64_t owed_demands = 0;  ///< of the member that asked, if this one loads for it

  static StatusBody from(const Frame& frame) {
    const RawWords words = words_of(frame, FrameKind::status);
    return {words.at_48, words.at_52, words.at_56, words.at_32};
  }
  void put_into(Frame& frame) const {
    put_words(frame, FrameKind::status, {owed_demands, activity, shard, counter});
    frame.round = 0;
  }
  std::string invalid() const;
  bool operator==(const StatusBody&) const = default;
};

}  // namespace muster
