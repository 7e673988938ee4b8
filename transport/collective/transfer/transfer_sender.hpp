// A member gives: records and whole states to those who miss them, in pieces, at the pace that a job allows
// (transfer_pace.hpp). The other end is intake.hpp.
//
// Bounds: at most kPiecesInFlight pieces are on their way to one peer; each is copied once, into memory of
// that size, and a transfer is let go of when its last piece has been. Nothing is lost if the peer is: then
// all that was for it is dropped.
//
// Thread rule: that of the engine, which it belongs to.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "transport/collective/rounds/liveness.hpp"
#include "transport/collective/transfer/transfer_pace.hpp"
#include "transport/collective/transfer/transfer_payload.hpp"
#include "transport/transport.hpp"

namespace muster {

struct TransferOptions {
  double share = 0.1;  ///< see TransferPace
  /// Of a piece. Larger: fewer answers; smaller: it stands in a round's way for a shorter time.
  std::size_t piece_bytes = std::size_t{256} << 10;
  std::size_t small_bytes = std::size_t{16} << 10;  ///< up to this nobody notices a piece
};

/// Not answered yet, to one peer.
inline constexpr std::size_t kPiecesInFlight = 8;

/// Records that a donor keeps for newcomers, sends ahead of what they have applied, and that may wait there:
/// as many as fit into 256 MiB, at least 8, at most 4,096. Who falls further behind begins again.
inline constexpr std::uint64_t kTransferWindowMax = 4096;
constexpr std::uint64_t transfer_window(std::uint64_t record_bytes) {
  constexpr std::uint64_t kBytes = std::uint64_t{256} << 20, kMin = 8;
  return std::clamp(kBytes / std::max<std::uint64_t>(record_bytes, 1), kMin, kTransferWindowMax);
}

/// What a state transfer to a newcomer took.
struct Given {
  using Time = std::chrono::nanoseconds;

  std::uint64_t bytes = 0;  ///< that have arrived
  Time took{0};             ///< from the first piece on
  Time busy{0};             ///< of this: something was on its way
  Time step_before{0};      ///< medians of the steps before, and while it went on; 0 if there were none
  Time step_meanwhile{0};
};

class TransferSender {
 public:
  using Time = std::chrono::nanoseconds;
  /// Sends a frame with these bytes, which it keeps until they are sent.
  using Send = std::function<void(PeerId to, const Frame& frame, std::vector<std::byte> bytes)>;

  TransferSender(const TransferOptions& options, Send send)
      : options_(options), pace_(options.share), send_(std::move(send)) {}

  /// What may wait before it is hurried: half of these records.
  void enter(std::uint64_t window) { window_ = window; }
  /// From now on a newcomer is given to, at the pace; others wait for what they are given.
  void newcomer(PeerId peer) { newcomers_.insert(peer); }

  void give(PeerId to, FrameKind kind, std::uint64_t number, std::shared_ptr<const TransferPayload> transfer,
            Time now, Time step);
  /// The answer of a peer: it has this piece.
  void arrived(PeerId at, const ReceivedBody& answer, Time now);
  /// A round of this member is over; `step`: it was a step.
  void round_over(bool step, Time now);
  /// What was for a peer is dropped.
  void forget(PeerId peer, Time now);
  void forget_all(Time now);

  /// Whether nothing waits, so that `pump` has nothing to do.
  bool idle() const { return to_.empty(); }
  /// Sends what may be sent. To be called whenever something has changed, and every heartbeat.
  void pump(TransferPace::Sight sight);

  /// What was given to this newcomer, if anything.
  std::optional<Given> given(PeerId newcomer, Time now) const;

 private:
  struct Waiting {
    FrameKind kind = FrameKind::record;
    std::uint64_t number = 0;
    std::shared_ptr<const TransferPayload> transfer;
    std::uint64_t next = 0;  // byte
  };
  struct OnItsWay {
    FrameKind kind = FrameKind::record;
    std::uint64_t number = 0, offset = 0, bytes = 0;
  };
  struct Receiver {
    std::deque<Waiting> waiting;
    std::vector<OnItsWay> on_their_way;
    std::uint64_t came = 0;  // transfers since nothing waited
    bool newcomer = false;
    Time since{0}, busy_before{0};
    std::uint64_t bytes = 0;
    Time step_before{0};
    StepClock steps;
  };

  bool hurries(const Receiver& receiver) const;
  bool may_send(const Receiver& receiver, TransferPace::Sight sight);
  void send_piece(PeerId to, Receiver& receiver, Time now);

  TransferOptions options_;
  TransferPace pace_;
  Send send_;
  std::uint64_t window_ = 8;
  std::set<PeerId> newcomers_;
  std::map<PeerId, Receiver> to_;
  PeerId served_ = 0;  // last
  std::optional<Time> round_began_;
  bool pumping_ = false;
};

}  // namespace muster
