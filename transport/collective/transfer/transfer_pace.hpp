// When a member that transfers something to a newcomer may send the next piece, so that the others' steps
// take longer by a stated share at most: a pure rule over times.
//
// The others pay for a state transfer while something of it is on its way, for then it may stand before their
// frames. So that time is counted, from the moment at which a piece goes out until the newcomer has it: it
// may be `share` of the time that passes. What was not used of the last minute is kept, also from before the
// state transfer, up to the time of one step. So a state that takes less than a step goes whole between two
// steps, and the newcomer need not be given each record that would come meanwhile. A piece waits until the
// link is idle, which it is at the latest when a round is over.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace muster {

class TransferPace {
 public:
  using Time = std::chrono::nanoseconds;

  /// A round whose frames do not get away holds no piece up for longer than this.
  static constexpr Time kYieldMax = std::chrono::seconds(1);
  /// One piece that takes long, or never arrives, is paid for up to this; a newcomer that stands still must
  /// not cost the next one its turn.
  static constexpr Time kOverdraftMax = std::chrono::seconds(2);
  /// The share is of this time: what was not used of it is kept, but no more than the time of one step.
  static constexpr Time kKept = std::chrono::seconds(60);

  /// `share` of the time, above 0 and at most 1.
  explicit TransferPace(double share) : share_(share) {}

  struct Sight {
    Time now{0};
    Time step{0};              ///< how long a step takes, the last ones' median; 0: not known yet
    bool steps_run = true;     ///< false: there is nobody whose step could take longer
    bool round_sends = false;  ///< frames of a round are on their way from this member
    bool small = false;        ///< what is to be sent takes no time to speak of
    bool hurry = false;        ///< the newcomer would fall out of reach, or it is a member that is waited for
  };
  struct Verdict {
    bool go = false;
    std::string_view reason;
  };

  /// Whether a piece may go out now. Times of calls never go back.
  Verdict judge(const Sight& sight);
  /// A piece has gone out; it has arrived, or never will.
  void began(Time now);
  void ended(Time now);

  /// Time in which something was on its way, so far.
  Time busy() const { return busy_; }
  std::size_t on_their_way() const { return on_their_way_; }

 private:
  void pass(Time now, Time most);

  double share_;
  Time last_{0};
  Time balance_{0};  // time that pieces may still take
  Time most_{0};     // of that: what is kept
  Time busy_{0};
  Time marked_{0};      // when the piece that arrives next began to have the way to itself
  Time piece_time_{0};  // that the last ones took, at most
  std::size_t on_their_way_ = 0;
  std::optional<Time> yields_since_;
};

}  // namespace muster
