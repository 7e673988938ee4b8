// Whose fault a silence is: a pure rule. A coordinator that hears none of its members, or too few of them all
// at once, suspects its own link before it takes them for dead.
//
//   all replicas of the view are silent       nobody is lost by silence, until one of them is heard again;
//                                             where no replica is, loaders stand for them, or else newcomers
//   a majority of three or more nodes is      the silent ones are lost kMajorityPatiences later than usual
//   after such a silence, unless nodes were   nobody is lost for as long as it lasted, up to `return_max`:
//   lost by it                                connections come back one after the other
//   after a shorter silence of all, of half   the same
//   the patience or more
//   otherwise                                 silence of the patience makes a node lost
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

namespace muster {

class SelfDoubt {
 public:
  using Time = std::chrono::nanoseconds;

  /// A majority that falls silent at once is waited for so many times the patience more.
  static constexpr int kMajorityPatiences = 5;

  /// `patience`: silence that makes a single node lost. `return_max`: within this time a node whose link is
  /// good again has reached the coordinator.
  SelfDoubt(Time patience, Time return_max) : patience_(patience), return_max_(return_max) {}

  enum class Kind { newcomer, loader, replica };  // in the order of who stands for all
  struct Member {
    Kind kind = Kind::replica;
    Time silence{0};
  };
  enum class Sight { clear, majority_silent, all_silent };  // in the order of the doubt

  /// The members of the view, and newcomers, that were heard at least once and are not lost. Times of calls
  /// never go back.
  Sight judge(std::span<const Member> members, Time now);

  /// Whether no report about others can be judged, as of the last `judge`: some of them may not have been
  /// told of the view yet.
  bool in_doubt(Time now) const { return sight_ != Sight::clear || now < excused_until_; }

  /// Whether a silence of that length makes a node lost, as of the last `judge`.
  bool makes_lost(Time silence, Time now) const;
  /// The coordinator itself has seen nobody for so long: its link may have been down meanwhile, and be so
  /// still; who was cut off is back later.
  void stood_still(Time time, Time now);
  /// Nodes are taken for lost by a silence of the majority: it was no fault of the coordinator's link.
  void decided() {
    sight_ = Sight::clear;
    quiet_since_.reset();
  }

  /// How many of those of the last `judge` were silent, and of how many.
  std::size_t silent() const { return silent_; }
  std::size_t of() const { return of_; }

 private:
  Sight look(std::span<const Member> members, Time now);
  Time quiet_from(Time since) const;
  void excuse(Time silence, Time now);

  Time patience_, return_max_;
  Sight sight_ = Sight::clear;
  Time since_{0};                    // all, or a majority, are silent since then
  std::optional<Time> quiet_since_;  // all, for half of the patience at least
  std::optional<Time> woken_;        // after a standstill,
  Time asleep_from_{0};              // which began then
  Time excused_until_{0};            // after that
  std::size_t silent_ = 0, of_ = 0;
};

}  // namespace muster
