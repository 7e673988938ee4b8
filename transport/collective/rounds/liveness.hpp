// What a member knows of the life of its peers: since when each owes it an answer, what each says that it is
// doing, and how long steps take. Lives with the engine; times are handed in.
//
// A member that waits in an open round pings those whose reports it misses; each answers from its progress
// thread, at once, with its progress status. So a link that is broken, a peer that computes and one that
// stands still are told apart, and nobody sends anything while rounds go on.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "transport/collective/rounds/progress.hpp"
#include "transport/collective/rounds/round.hpp"
#include "transport/frames/status_body.hpp"
#include "transport/transport.hpp"

namespace muster {

/// What a waiting member sees of another one.
struct PeerSight {
  PeerId peer = 0;
  bool header_in = false;   ///< of the open round
  bool samples = false;     ///< its header is in, and says that its shards have samples in this round
  bool metrics_in = false;  ///< its metrics: it has nothing more to compute
  bool sums_in = false;     ///< every element that it owes this member has come
  std::optional<std::chrono::nanoseconds> unanswered_since;   ///< the first ping since a frame of it came
  std::chrono::nanoseconds progress{0};                       ///< when its counter was last seen to move
  std::chrono::nanoseconds status_at{0};                      ///< when its last status came
  ProgressStatus doing;                                       ///< that status
  std::array<std::chrono::nanoseconds, kActivities> spent{};  ///< with each activity, within this wait

  bool taken = true;  ///< it has taken, or let go of, all that it was sent in this round

  bool owes() const { return !header_in || !metrics_in || !sums_in || !taken; }
};

/// An open round, as the member that waits sees it. Times are of one clock.
struct RoundSight {
  std::uint32_t view = 0;
  std::uint64_t round = 0;
  RoundKind kind = RoundKind::train;
  std::uint64_t step = 0;
  std::uint64_t record = 0;                    ///< that is being made, of this view, from 1
  std::chrono::nanoseconds waiting_since{0};   ///< when this member had nothing left to do but wait
  std::chrono::nanoseconds last_report_at{0};  ///< when the last header or metrics of anyone came
  /// No member sends its metrics before the headers of all are there (shard_copies.hpp).
  bool metrics_follow = false;
  bool samples = false;                     ///< this member's shards have some in this round
  std::chrono::nanoseconds median_step{0};  ///< of the last steps; 0 before the first
  std::chrono::nanoseconds now{0};
  std::vector<PeerSight> peers;
};

/// A loader that this node waits for, as this node sees it.
struct LoadingSight {
  std::uint32_t view = 0;
  PeerSight loader;                           ///< of it: silence, progress, status
  std::uint64_t owes = 0;                     ///< demands of this node that it says it works on
  std::size_t unanswered = 0;                 ///< demands that it was asked
  bool arriving = false;                      ///< a micro-batch of it has begun to arrive
  std::chrono::nanoseconds asked_at{0};       ///< when it was asked for something last
  std::chrono::nanoseconds waiting_since{0};  ///< when this node got its last micro-batch, or began to wait
  std::chrono::nanoseconds median_step{0};    ///< of the last steps; 0 before the first
  std::chrono::nanoseconds now{0};
};

/// Times of the last steps, for a patience that fits the job.
class StepClock {
 public:
  static constexpr std::size_t kWindow = 31;

  void step_took(std::chrono::nanoseconds time);
  /// 0 before the first step.
  std::chrono::nanoseconds median() const;

 private:
  std::array<std::chrono::nanoseconds, kWindow> last_{};  // in no order
  std::size_t steps_ = 0;
};

class Liveness {
 public:
  using Time = std::chrono::nanoseconds;

  /// A new view: what was known of peers is forgotten, how long steps take is not.
  void enter();
  /// A frame of this peer has come; it was asked what it does.
  void heard(PeerId peer) { peers_[peer].unanswered_since.reset(); }
  void asked(PeerId peer, Time now);
  /// Its answer to a ping.
  void told(PeerId peer, const ProgressStatus& status, Time now, std::uint64_t owes = 0);
  /// Demands of this node that a loader has said it works on.
  std::uint64_t owes(PeerId peer) const;
  /// A round is over; `step`: it was a training round.
  void round_done(bool step, Time now);

  /// Fills in what is known of this peer.
  void describe(PeerSight& sight, Time now) const;
  Time median_step() const { return clock_.median(); }

  /// Whether this round was looked at before: it waits for longer than a tick. At the first look it begins to
  /// be counted what the peers spend their time with.
  bool again(std::uint64_t round);

 private:
  struct Known {
    std::optional<Time> unanswered_since;
    Time progress{0}, status_at{0};
    Time told{0};  // within this round
    ProgressStatus doing;
    std::uint64_t owes = 0;
    std::array<Time, kActivities> spent{};
  };

  std::map<PeerId, Known> peers_;
  StepClock clock_;
  std::optional<Time> last_done_;
  std::optional<std::uint64_t> looked_at_;
};

/// The status as the answer to a ping, and back; nothing if it cannot be.
StatusBody body_of(const ProgressStatus& status);
std::optional<ProgressStatus> status_in(const StatusBody& body);

}  // namespace muster
