// What a node has told its coordinator of itself and its view, and tells again to one that was started anew.
// Pure. For one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/messages/bits_messages.hpp"
#include "actors/messages/checkpoint_messages.hpp"
#include "actors/messages/end_messages.hpp"
#include "actors/messages/report_messages.hpp"
#include "actors/messages/view_messages.hpp"

namespace muster {

class OwnReports {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// Of Progress, between two Pulses. Far more than a coordinator that works lets come together.
  static constexpr std::size_t kUnheardMax = 20000;

  void entered(const View& view);
  /// It takes part from outside the view: connections are new.
  void observes() { broken_.clear(); }

  /// Whether it is the first error: what follows from that is not worth saying.
  bool failed(const Failing& failure);
  /// It hands its shards over, and goes.
  void leaves(const Leaving& leaving, Time now) {
    leaving_ = leaving;
    leaving_since_ = now;
  }
  bool leaving() const { return leaving_.has_value(); }
  Time leaving_since() const { return leaving_since_; }
  /// The end of a node that leaves, and that nobody lets go: it keeps what it holds.
  Stop leaves_alone() const {
    return {true, leaving_->reason + ", while the coordinator does not answer", false, true};
  }
  /// Members of the view hold other bits.
  void found_unlike(const UnlikeBits& unlike) { unlike_ = unlike; }
  const std::optional<UnlikeBits>& unlike() const { return unlike_; }
  void went_back(const WentBack& message) { went_back_ = message; }
  /// Of the replicas of its view, as in Member.
  const std::vector<std::uint64_t>& clean() const { return clean_; }
  void compared(const std::vector<std::uint64_t>& clean) { clean_ = clean; }

  /// A connection to another member has ended. Such an end is met once; the coordinator forgets complaints
  /// that it cannot judge, and is told again.
  void broke(const Failing& complaint) { broken_.push_back(complaint); }
  /// There is a new one to that node.
  void connected(const NodeName& peer);
  /// The complaints, if they were told last `patience` ago.
  std::vector<Failing> complaints(Time now, std::chrono::milliseconds patience);

  /// Whether progress is held back: much of it was sent since the last Pulse, and a coordinator that stands
  /// still reads none of it.
  bool holds_back(const Progress& progress);
  /// A Pulse has come. The last progress that was held back: newer than all the others.
  std::optional<Progress> heard();

  /// Passes all to `send`, one after the other.
  template <class Send>
  void repeat(Send send) const {
    if (failure_) send(*failure_);
    if (unlike_) send(*unlike_);
    if (went_back_) send(*went_back_);
    for (const Failing& complaint : broken_) send(complaint);
    if (leaving_) send(*leaving_);
  }

 private:
  std::optional<Failing> failure_;
  std::optional<UnlikeBits> unlike_;   // of this view
  std::optional<WentBack> went_back_;  // likewise
  std::vector<std::uint64_t> clean_;   // likewise
  std::vector<Failing> broken_;        // likewise
  Time complained_at_{};
  std::optional<Leaving> leaving_;
  Time leaving_since_{};
  std::size_t unheard_ = 0;  // of Progress, sent since the last Pulse
  std::optional<Progress> held_back_;
};

}  // namespace muster
