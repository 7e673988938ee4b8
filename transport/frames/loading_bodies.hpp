// Bodies of the frames between a shard and a loader on another node (round_bodies.hpp says what a body is).
#pragma once

#include <cstdint>
#include <string>

#include "transport/frames/raw_words.hpp"

namespace muster {

/// `demand`: a shard asks for a micro-batch; no payload.
struct DemandBody {
  static constexpr std::uint32_t kPhases = 2;  ///< training, evaluation

  std::uint32_t shard = 0;
  std::uint64_t ticket = 0;  ///< the answer has the same
  std::uint64_t epoch = 0;   ///< with phase and step: where the shard's cursor stands
  std::uint32_t phase = 0;   ///< below kPhases
  std::uint64_t step = 0;

  static DemandBody from(const Frame& frame) {
    const RawWords words = words_of(frame, FrameKind::demand);
    return {words.at_48, frame.round, words.at_56, words.at_52, words.at_32};
  }
  void put_into(Frame& frame) const {
    put_words(frame, FrameKind::demand, {step, shard, phase, epoch});
    frame.round = ticket;
  }
  std::string invalid() const;
  bool operator==(const DemandBody&) const = default;
};

/// `batch`: the answer, with a micro-batch as its payload.
struct BatchBody {
  std::uint32_t shard = 0;
  std::uint64_t ticket = 0;

  static BatchBody from(const Frame& frame) { return {words_of(frame, FrameKind::batch).at_48, frame.round}; }
  void put_into(Frame& frame) const {
    put_words(frame, FrameKind::batch, {0, shard, 0, 0});
    frame.round = ticket;
  }
  std::string invalid() const { return {}; }
  bool operator==(const BatchBody&) const = default;
};

}  // namespace muster
