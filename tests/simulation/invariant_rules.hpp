// The invariants as rules over plain values: each is told what happened, and answers what is wrong with it.
// Numbers are those of `kInvariants` in invariants.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "actors/messages/messages.hpp"
#include "muster/report.hpp"
#include "tests/simulation/oracle.hpp"
#include "transport/collective/rounds/round.hpp"
#include "transport/frames/round_bodies.hpp"

namespace muster::simulation {

/// What is wrong; number 0: nothing.
struct Wrong {
  int invariant = 0;
  std::string what;

  explicit operator bool() const { return invariant != 0; }
};

/// A loss in it is NaN.
bool is_not_finite(const RoundRecord& record);

/// One replica: it takes the oracle's records, each once and in order; has the oracle's state after each
/// step; when it has promised to take nothing more of a view, it does not; and as a newcomer it adds nothing
/// before its state is the oracle's.
class ReplicaRule {
 public:
  explicit ReplicaRule(const OracleResult& oracle) : oracle_(&oracle) {}

  /// A round is over; `from`: the records that its view began with.
  Wrong record(std::uint32_t view, std::uint64_t from, const RoundRecord& record);
  /// A record, or a whole state, arrived from a donor; it may be taken, or thrown away if the view closes.
  void transferred() { ++handed_; }
  /// All go back to a checkpoint of so many records.
  void goes_back(std::uint64_t records);
  /// It is a newcomer now: it is given a state of any step, and records after it.
  void observes();
  Wrong caught_up(std::uint64_t records);
  Wrong applied(std::uint64_t step, std::span<const float> state);
  /// It reports the view as closed, and so many records.
  Wrong promised(std::uint32_t view, std::uint64_t records);
  void begun(std::uint32_t view) { promise_ = view > promise_ ? 0 : promise_; }

  /// Records that it holds: at least and at most.
  std::uint64_t least() const { return strays_ ? 0 : records_; }
  std::uint64_t most() const { return observes_ || strays_ ? oracle_->records.size() : records_ + handed_; }
  /// It was left behind with a record that the others then decided otherwise: it is no measure any more,
  /// until it comes anew.
  void strays() { strays_ = true; }
  bool is_astray() const { return strays_; }
  std::uint64_t steps_applied() const { return applied_; }
  /// The number, from 0, of the record that it takes next in a view that began with `from` records.
  std::uint64_t next(std::uint32_t view, std::uint64_t from) const { return view == in_ ? records_ : from; }

 private:
  Wrong compare(const RoundRecord& record, const OracleRecord& expected) const;
  std::uint64_t steps_in(std::uint64_t records) const;

  const OracleResult* oracle_;
  std::uint64_t records_ = 0;
  std::uint64_t applied_ = 0;
  bool unsure_ = false;        // it strayed, is to go back, and has not yet
  std::uint32_t promise_ = 0;  // view; 0: none
  std::uint32_t in_ = 0;       // the view of its last record
  std::uint64_t handed_ = 0;   // since then
  bool observes_ = false;
  bool strays_ = false;
};

/// The records that a view takes a member to hold.
std::uint64_t said_to_hold(const View& view, std::uint32_t slot);

/// The views of the coordinator: numbered upwards, every shard held once, and as far as their members are.
class ViewRule {
 public:
  explicit ViewRule(std::uint32_t shards, bool in_parts = false) : shards_(shards), in_parts_(in_parts) {}

  /// Whether its members go back to a checkpoint, or to the beginning.
  bool goes_back(const View& view) const;
  /// Whether a later view went back to a checkpoint: records are counted anew from there on.
  bool given_up(std::uint32_t view) const;

  struct Holds {
    std::uint64_t least = 0, most = 0;
  };
  /// Views with this number, and later ones, are as if they had never been.
  void forget_from(std::uint32_t view) { views_.erase(views_.lower_bound(view), views_.end()); }
  /// A view was sent out for the first time; `holds` says for each replica by slot what it really holds.
  Wrong made(const View& view, const std::map<std::uint32_t, Holds>& holds);
  /// A replica took its record number `index` (from 0) in a view. One that was left behind by a newer view
  /// may be one record ahead of what that one goes on from, never more.
  Wrong committed(std::uint32_t slot, std::uint32_t view, std::uint64_t index) const;

  const std::map<std::uint32_t, View>& views() const { return views_; }
  /// Records that a view begins with.
  std::uint64_t from(std::uint32_t view) const {
    const auto found = views_.find(view);
    return found == views_.end() ? 0 : found->second.records;
  }
  const View* latest() const { return views_.empty() ? nullptr : &views_.rbegin()->second; }

 private:
  std::uint32_t shards_;
  bool in_parts_;                        ///< an optimizer, or the states of shards
  std::map<std::uint32_t, View> views_;  // by number
};

/// The frames of one process: none of an old view or of a dead incarnation is let in; no buffer is used twice
/// at once, nor changed while it is being sent; what was added up from memory that its owner had taken back
/// goes nowhere.
class FrameRule {
 public:
  /// `incarnation`: of the peer in that view; 0 if it is no member.
  Wrong placed(const Frame& frame, std::span<std::byte> place, std::uint64_t incarnation);
  void ended(std::span<std::byte> place) { places_.erase(place.data()); }
  void dropped(const Frame& frame);
  /// What it has read of this one had been taken back.
  void revoked(const Frame& frame) { revoked_.insert({frame.view, frame.round, elements_in(frame).sum}); }
  Wrong sending(const Frame& frame, std::span<const std::byte> payload, std::uint64_t number);
  Wrong record(std::uint32_t view, std::uint64_t round) const;
  Wrong sent(std::uint64_t number);
  void entered(std::uint32_t view) { view_ = view; }
  /// It says that it has installed this view.
  Wrong installed(std::uint32_t view) const;
  Wrong closed(std::uint32_t view);
  std::uint32_t view() const { return view_; }

 private:
  struct Place {
    Frame frame;
    std::size_t bytes = 0;
    bool early = false;  ///< of a view that was not entered yet
  };
  struct Sending {
    Frame frame;
    std::span<const std::byte> payload;
    std::uint64_t hash = 0;
  };
  std::uint32_t view_ = 0;
  std::uint32_t closed_ = 0;
  std::map<const std::byte*, Place> places_;
  std::map<std::uint64_t, Sending> sending_;
  std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>> revoked_;  // sums: view, round, which
};

/// Most of three or more nodes that the coordinator stops hearing at one time are waited for: its own link
/// may be to blame (rules/watch/self_doubt.hpp). Judged where nothing else went wrong.
class MajorityRule {
 public:
  /// From now on it hears none of these, of so many that are there.
  void cut(const std::set<std::string>& who, std::size_t of, std::chrono::nanoseconds now);
  /// It has given this one up for its silence.
  Wrong lost(const std::string& who, std::chrono::nanoseconds patience, std::chrono::nanoseconds now) const;
  /// Somebody was lost for another reason: they may not be the most any more.
  void forget() { cut_.clear(); }

 private:
  std::set<std::string> cut_;  // empty where they are not the most
  std::chrono::nanoseconds since_{0};
};

/// No sample was used twice, and none was missed.
Wrong ledger_rule(const Report& report);

/// The report at the end, against the oracle's.
Wrong report_rule(const Report& report, const OracleResult& oracle, bool bits = true);

}  // namespace muster::simulation
