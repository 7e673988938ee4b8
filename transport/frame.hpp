// The header of everything that crosses the data plane. Fixed size, little endian, checked on arrival: a
// frame of another protocol, an old view or a dead incarnation changes nothing.
#pragma once

#include <cstddef>
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
  part = 14,      ///< elements of the optimizer's vectors, to a member that will hold them
  gathered = 15,  ///< elements of the optimizer's vectors, to the member that writes a checkpoint
  received = 16,  ///< the answer to each piece: it is here, and is as it was sent; no payload
  carried = 17,   ///< elements of a shard's new state, to the buddy of the member that computes the shard
};

/// 32 or 64 bits of a body. What they mean depends on the kind, so only the bodies in transport/frames/ read
/// and write them.
template <typename Word>
class BodyWord {
  friend struct RawWords;
  Word value_ = 0;
};

/// One per message, 64 bytes. What every frame says stands here by name; the rest is the body, which has a
/// type for each kind: transport/frames/. A body fills the whole rest, with 0 where its kind has nothing to
/// say.
struct Frame {
  std::uint32_t magic = kFrameMagic;
  std::uint16_t version = kProtocolVersion;
  FrameKind kind = FrameKind::header;
  std::uint32_t view = 0;
  std::uint32_t from = 0;         ///< member number of the sender within the view
  std::uint64_t incarnation = 0;  ///< of the sender; a restarted process has another
  /// Frames of the reduction: counts exchanges within a view (collective/rounds/round.hpp). Of all others it
  /// belongs to the body.
  std::uint64_t round = 0;
  BodyWord<std::uint64_t> at_32;  ///< named by its first byte, as the next ones
  std::uint32_t bytes = 0;        ///< of the payload
  std::uint32_t check = 0;        ///< of all other fields; the transports set it, and look at it
  BodyWord<std::uint32_t> at_48;
  BodyWord<std::uint32_t> at_52;
  BodyWord<std::uint64_t> at_56;
};
static_assert(sizeof(Frame) == 64 && std::is_trivially_copyable_v<Frame> && std::is_standard_layout_v<Frame>);
static_assert(offsetof(Frame, at_32) == 32 && offsetof(Frame, at_48) == 48 && offsetof(Frame, at_52) == 52 &&
              offsetof(Frame, at_56) == 56);

/// The frame as it crosses the wire: with its check.
Frame checked(Frame frame);

/// Reads a frame from received bytes. Nothing if it is not one of ours; `why` then says what was found.
std::optional<Frame> decode_frame(std::span<const std::byte> bytes, std::string& why);

}  // namespace muster
