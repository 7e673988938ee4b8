// The data plane of one node within one view: takes every frame that arrives and hands it to the reduction,
// or, if it is a micro-batch from a loader elsewhere, to the node. Lives on the progress thread, or in
// virtual time.
//
// Ownership: the engine refers to the transport and holds the reduction of the current view.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/collective/engine/demand_book.hpp"
#include "transport/collective/engine/early_frames.hpp"
#include "transport/collective/engine/kept_sends.hpp"
#include "transport/collective/engine/loading_watch.hpp"
#include "transport/collective/engine/view_peers.hpp"
#include "transport/collective/engine/whole_messages.hpp"
#include "transport/collective/reduction/reduction.hpp"
#include "transport/collective/transfer/intake.hpp"
#include "transport/collective/transfer/transfer_sender.hpp"
#include "transport/transport.hpp"

namespace muster {

class Engine final : public FrameSink {
 public:
  struct Hooks {
    std::function<void(std::shared_ptr<const RoundRecord>)> round_done;
    std::function<void(const std::string& reason)> reduction_failed;  ///< at most once
    /// In place of it, for an error of this node alone.
    std::function<void(const std::string& reason)> reduction_broke = nullptr;
    /// A micro-batch (encoded) for a shard of this node, from a loader on another.
    std::function<void(const Frame& frame, std::vector<std::byte> payload)> batch;
    /// A shard on another node asks the loader on this one for a micro-batch.
    std::function<void(const Frame& frame)> demand;
    /// At most once for a peer of a view. `view`: the engine's, which its node may have left.
    std::function<void(std::uint32_t view, PeerId peer, const std::string& reason)> peer_failed;
    std::function<void(const std::string& reason)> refused;
    /// The view of this number is closed on this node: no frame of it changes anything any more, and every
    /// buffer that was given to its reduction is free. `result_begun`: a part of the result of a round that
    /// was not finished has been written; `result_abandoned`: and may still be, so that its memory must not
    /// be used again (quarantine.hpp).
    std::function<void(std::uint32_t view, bool result_begun, bool result_abandoned)> closed;
    /// A round waits for longer than a tick: what this member sees of the others. Comes at each tick.
    std::function<void(RoundSight)> stalled = nullptr;
    /// This node waits for micro-batches of a loader elsewhere for longer than a tick. Comes at each tick.
    std::function<void(LoadingSight)> starved = nullptr;
    /// What this node is doing now; called on the engine's thread.
    std::function<ProgressStatus()> progress = nullptr;
    /// The clock: real or virtual. Looked at at each tick, and when something comes.
    std::function<std::chrono::nanoseconds()> now = nullptr;
    /// A record (frame.kind) that this node missed, a whole state, or elements of an optimizer, from a member
    /// that has it; or the answer of one that it was given to.
    std::function<void(const Frame& frame, std::vector<std::byte> payload)> transferred;
    /// A newcomer that this node gave its state to is part of the view that is entered.
    std::function<void(PeerId newcomer, const Given& given)> gave = nullptr;
    /// Members of the view hold other bits (round_check.hpp); at most once in a view.
    std::function<void(const Unlike& found)> unlike = nullptr;
  };

  using Peer = ViewPeer;

  /// Greetings of views that this node has not heard of yet.
  static constexpr std::size_t kEarlyFramesMax = EarlyFrames::kFramesMax;
  static constexpr std::size_t kEarlyBytesMax = EarlyFrames::kBytesMax;

  Engine(Transport& transport, Hooks hooks, const TransferOptions& transfer_sender = {});
  ~Engine();

  /// What a peer may send as one, in bytes.
  struct Bounds {
    std::uint64_t batch = 0;
    std::uint64_t record = 0;
    std::uint64_t state = 0;
    std::uint64_t part = 0;  ///< of an optimizer
  };

  /// Enters a view: connects every peer (all but this node), lets go of those that are not in it, and makes
  /// the reduction if this node is a member (`shape`). A newcomer observes a view without being a member; it
  /// may enter the same one again. A connection is kept from this node's last view if both ends were members
  /// in the one after that, or are so from then on; in a view between, of which this node knows nothing, the
  /// peer has let go of it.
  void install(std::uint32_t view, PeerId self, std::uint64_t incarnation, const std::vector<Peer>& peers,
               const ReductionShape* shape, const Bounds& bounds);

  /// A newcomer that this node hands its state to, within the view.
  void accept(const Peer& peer);

  /// Lets go of a peer: its connection is cut, and its frames are refused. A connection made after it is a
  /// new one.
  void disconnect(PeerId peer);

  /// Ends the view: cuts the lost peers, drops every later frame of the view, and says `closed` as soon as
  /// what is under way has run out. May be called again, with more lost peers; then `closed` comes again.
  void close(std::uint32_t view, const std::vector<PeerId>& lost);

  /// To be called every heartbeat: asks those who are waited for what they are doing, and says `stalled` and
  /// `starved`.
  void tick();

  /// Asks a loader again for all that it has not answered.
  void ask_again(PeerId loader);

  /// To be called again and again while something is added up aside (ReductionShape::unit): goes on with what
  /// has ended. Returns whether there was something.
  bool fold_on();
  /// Whether something is. No descriptor tells of its end.
  bool folding() const { return reduction_ && reduction_->folding(); }

  /// Gives a record, or a whole state, to a peer, in pieces. A newcomer gets them at the pace that leaves the
  /// steps of the others their time; a member of the view, who is waited for, at once.
  void transfer_state(PeerId to, FrameKind kind, std::uint64_t number,
                      std::shared_ptr<const TransferPayload> transfer);

  /// The view that was installed last; 0 before the first.
  std::uint32_t view() const { return peers_.view(); }

  /// The reduction of the current view; null on a node that is no member.
  Reduction* reduction() { return reduction_.get(); }

  /// Sends a batch or demand frame, or a status; fills in view, sender and incarnation. The engine keeps the
  /// bytes until they are sent.
  void send_loading(PeerId to, Frame frame, std::vector<std::byte> payload);

  /// Whether frames are expected soon: worth polling for.
  bool busy() const { return reduction_ && reduction_->waiting(); }
  std::size_t batches_in_flight() const { return sends_.size(); }

  std::span<std::byte> place(const Frame& frame) override;
  bool arrived_in_place(const Frame& frame, std::span<const std::byte> payload,
                        BorrowedBuffer borrow) override;
  void arrived(const Frame& frame, std::span<std::byte> payload) override;
  void dropped(const Frame& frame) override;
  void abandoned(const Frame& frame) override;
  void sent(PeerId to, SendToken token, bool ok) override;
  void peer_failed(PeerId peer, const std::string& reason) override;
  void refused(const std::string& reason) override;

 private:
  void report_closed_if_drained();
  void blame(PeerId peer, const std::string& reason);
  void replay_early_frames();
  bool about_life(const Frame& frame);
  std::chrono::nanoseconds now() const;
  void report_what_was_given(const std::vector<Peer>& members);
  void round_is_over(std::shared_ptr<RoundRecord> record);
  void go_on_giving();
  void look_at_loaders();
  void ask_for_life(PeerId peer);
  void look_while_closing();
  std::span<std::byte> place_whole(const Frame& frame);
  std::span<std::byte> place_piece(const Frame& frame);
  void whole_arrived(const Frame& frame, std::span<const std::byte> payload);
  void piece_arrived(const Frame& frame, std::span<const std::byte> piece);
  void refuse(PeerId peer, const std::string& reason);

  Transport& transport_;
  Hooks hooks_;
  ViewPeers peers_;
  Liveness liveness_;
  DemandBook demands_;
  LoadingWatch loading_;
  Traffic told_of_;  // what the records so far say was sent
  std::unique_ptr<Reduction> reduction_;
  bool reduction_abandoned_ = false;  // something may still be written to its buffers
  bool result_abandoned_ = false;     // or to the result of its round
  std::size_t placed_ = 0;            // payloads of the reduction that are arriving
  std::optional<std::uint32_t> closing_;
  Bounds bounds_;
  TransferSender transfer_sender_;  // to others
  Intake intake_;                   // from others
  WholeMessages whole_;             // likewise
  KeptSends sends_;                 // batches, demands, statuses and pieces
  EarlyFrames early_;
};

}  // namespace muster
