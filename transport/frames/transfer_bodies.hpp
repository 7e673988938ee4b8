// Bodies of the frames by which a member gives another one what it misses: records, states, elements of an
// optimizer (round_bodies.hpp says what a body is).
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "transport/frames/raw_words.hpp"

namespace muster {

/// What is too large for one message, and comes in pieces.
inline bool comes_in_pieces(FrameKind kind) {
  return kind == FrameKind::record || kind == FrameKind::state;
}

/// `record` or `state`: a piece of one (collective/transfer/transfer_payload.hpp).
struct PieceBody {
  FrameKind of = FrameKind::record;  ///< record: and its result. state: of a replica
  std::uint64_t number = 0;          ///< of the record, from 1; of a state: records so far
  std::uint64_t first_byte = 0;      ///< of the piece within the whole
  std::uint32_t bytes = 0;           ///< of the piece: its payload
  std::uint64_t whole_bytes = 0;
  std::uint32_t check = 0;    ///< of the piece: piece_check
  std::uint32_t waiting = 0;  ///< records of later numbers that wait for the same receiver

  static PieceBody from(const Frame& frame) {
    const RawWords words = words_of(frame, FrameKind::record, FrameKind::state);
    return {frame.kind, frame.round, words.at_32, frame.bytes, words.at_56, words.at_48, words.at_52};
  }
  void put_into(Frame& frame) const {
    put_words(frame, of, {first_byte, check, waiting, whole_bytes});
    frame.round = number;
    frame.bytes = bytes;
  }
  std::string invalid() const;
  bool operator==(const PieceBody&) const = default;
};

/// `received`, the answer to each piece: it is here, and is as it was sent; no payload.
struct ReceivedBody {
  FrameKind of = FrameKind::record;  ///< what the piece is of; 0: of no kind that there is
  std::uint64_t number = 0;
  std::uint64_t first_byte = 0;

  static ReceivedBody from(const Frame& frame) {
    const RawWords words = words_of(frame, FrameKind::received);
    const bool fits = words.at_48 <= std::numeric_limits<std::uint16_t>::max();
    return {static_cast<FrameKind>(fits ? words.at_48 : 0), frame.round, words.at_32};
  }
  void put_into(Frame& frame) const {
    put_words(frame, FrameKind::received, {first_byte, static_cast<std::uint32_t>(of), 0, 0});
    frame.round = number;
  }
  std::string invalid() const;
  bool operator==(const ReceivedBody&) const = default;
};

/// `taken`: a newcomer has applied these records; no payload. `part`: elements of the optimizer's vectors, to
/// a member that will hold them. `gathered`: to the member that writes a checkpoint.
struct RecordsBody {
  FrameKind kind = FrameKind::taken;
  std::uint64_t records = 0;  ///< so far

  static RecordsBody from(const Frame& frame) {
    words_of(frame, FrameKind::taken, FrameKind::part, FrameKind::gathered);
    return {frame.kind, frame.round};
  }
  void put_into(Frame& frame) const {
    put_words(frame, kind, {});
    frame.round = records;
  }
  std::string invalid() const { return {}; }
  bool operator==(const RecordsBody&) const = default;
};

}  // namespace muster
