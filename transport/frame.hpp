// The header of everything that crosses the data plane. Fixed size, little endian, checked on arrival: a
// frame of another protocol, an old view or a dead incarnation changes nothing.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace muster {

inline constexpr std::uint32_t kFrameMagic = 0x5254534d;  // "MSTR"
inline constexpr std::uint16_t kProtocolVersion = 26;
inline constexpr std::uint32_t kPayloadBytesMax = std::uint32_t{1} << 31;

enum class FrameKind : std::uint16_t {
  header = 1,        ///< a member's report on one round: ranges and weights of its shards, ended or not
  metrics = 2,       ///< a member's losses of one round, sent when its computation has ended
  contribution = 3,  ///< elements of one tree node, to the owner of the range
  result = 4,        ///< elements of the divided root, from the owner of the range to every member
  batch = 5,         ///< a micro-batch from a loader on another node
  demand = 6,        ///< a shard's demand for a micro-batch, to a loader on another node; no payload
  record = 7,        ///< a piece of a record with its result, from a member that has it to one that missed it
  state = 8,  ///< a piece of the state of a replica, to a newcomer (collective/transfer/transfer_payload.hpp)
  ping = 9,   ///< from a member that waits, to one that it waits for; no payload
  status =
      10,  ///< the answer to a ping: what the member is doing (collective/rounds/liveness.hpp); no payload
  taken = 11,     ///< from a newcomer to its donor: it has applied the records up to this; no payload
  reduced = 12,   ///< elements of the mean gradient, from the owner of the range to its buddy
  kept = 13,      ///< the answer, also to `carried`: the buddy holds them; no payload
  part = 14,      ///< elements of the optimiser's vectors, to a member that will hold them
  gathered = 15,  ///< elements of the optimiser's vectors, to the member that writes a checkpoint
  received = 16,  ///< the answer to each piece: it is here, and is as it was sent; no payload
  carried = 17,   ///< elements of a shard's new state, to the buddy of the member that computes the shard
};

/// One per message, 64 bytes. `round` counts exchanges within a view; see collective/rounds/round.hpp.
struct Frame {
  std::uint32_t magic = kFrameMagic;
  std::uint16_t version = kProtocolVersion;
  FrameKind kind = FrameKind::header;
  std::uint32_t view = 0;
  std::uint32_t from = 0;         ///< member number of the sender within the view
  std::uint64_t incarnation = 0;  ///< of the sender; a restarted process has another
  std::uint64_t round = 0;        ///< batch, demand: the ticket; all but reports of rounds:
                                  ///< its number
  std::uint64_t offset = 0;  ///< sums, results, reduced, kept, carried: first element; demand: step of the
                             ///< cursor; record, state, received: first byte of the piece; status: demands
                             ///< that the asked one owes to the asker
  std::uint32_t bytes = 0;   ///< of the payload
  std::uint32_t check = 0;   ///< of all other fields; the transports set it, and look at it
  std::uint32_t node =
      0;  ///< contribution: tree node (canonical_tree.hpp); batch, demand, carried: shard;
          ///< status: activity; record, state: check of the piece; received: kind of what came
  std::uint32_t extra = 0;  ///< sums, results: which of a round's sums (reduction_sums.cpp); demand: phase of
                            ///< the cursor; status: shard; record, state: how many wait behind
  std::uint64_t more = 0;   ///< demand: epoch of the cursor; status: counter; record, state: bytes of the
                            ///< whole; kept: elements; contribution, result: elements of a sparse payload
                            ///< (collective/sums/sparse.hpp), 0: it is dense
};
static_assert(sizeof(Frame) == 64 && std::is_trivially_copyable_v<Frame>);

/// The frame as it crosses the wire: with its check.
Frame checked(Frame frame);

/// Reads a frame from received bytes. Nothing if it is not one of ours; `why` then says what was found.
std::optional<Frame> decode_frame(std::span<const std::byte> bytes, std::string& why);

}  // namespace muster
