// Who has fallen silent: a pure rule over the arrival times of heartbeats.
//
// Two judgements from the same times. Early: phi accrual (Hayashibara, Défago, Yared, Katayama: "The phi
// accrual failure detector", SRDS 2004): phi = -log10 of the chance that a heartbeat comes later than now, if
// intervals are normal with mean and deviation of the last ones; a phi above the threshold makes a node
// `suspected`, a heartbeat makes it `trusted` again. Final: silence of the stated patience makes it `silent`;
// only that evicts.
//
// A detector that was itself late (stopped, swapped out) does not blame others for it: the time that it lost
// is taken off every silence, and it does not judge before it has looked at its input once more.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "actors/messages/view.hpp"

namespace muster {

/// Phi of one source of heartbeats.
class PhiAccrual {
 public:
  using Time = std::chrono::nanoseconds;

  static constexpr std::size_t kWindow = 100;  ///< intervals that are remembered
  static constexpr double kPhiMax = 300;       ///< chances below 10^-300 are not told apart

  /// `interval`: of heartbeats when all is well: the mean until two have come, and the least deviation that
  /// is assumed at any time, so that a very regular source is not suspected for a hiccup.
  explicit PhiAccrual(Time interval) : interval_(interval) {}

  void heard(Time now);
  /// Time in which nobody listened: it counts in no interval.
  void skip(Time lost, Time now);
  /// 0 before the first heartbeat.
  double phi(Time now) const;
  Time last_heard() const { return last_; }
  Time silence(Time now) const { return heard_any_ ? now - last_ : Time{0}; }

 private:
  Time interval_;
  bool heard_any_ = false;
  Time last_{0};
  std::deque<double> intervals_s_;
  double sum_s_ = 0, squares_s2_ = 0;
};

struct SuspicionOptions {
  std::chrono::nanoseconds heartbeat = std::chrono::milliseconds(100);
  std::chrono::nanoseconds patience = std::chrono::seconds(1);    ///< silence that evicts
  std::chrono::nanoseconds tick = std::chrono::milliseconds(50);  ///< how often the detector means to judge
  double threshold = 8;  ///< phi that makes a node suspected: one false report in 10^8 heartbeats
};

class Suspicion {
 public:
  using Time = std::chrono::nanoseconds;

  explicit Suspicion(SuspicionOptions options) : options_(options) {}

  /// A sign of life; the first one begins the watch over this node.
  void heard(const NodeName& name, Time now);
  /// The watch over this node ends: it is lost, has left, or said goodbye.
  void forget(const NodeName& name) { watched_.erase(name); }
  void keep_only(const std::function<bool(const NodeName&)>& wanted) {
    std::erase_if(watched_, [&](const auto& entry) { return !wanted(entry.first); });
  }

  enum class Kind { suspected, trusted, silent };
  struct Opinion {
    NodeName name;
    Kind kind = Kind::trusted;
    double phi = 0;
    Time silence{0};
  };
  struct Judgement {
    std::vector<Opinion> changed;  ///< by name; a silent node is told of each time until it is forgotten
    Time late{0};                  ///< this detector was late by so much: deadlines are extended
  };
  /// To be called about every `tick` from time 0 on. What was heard since the last call is in already, except
  /// after a time in which the detector did not run: then it may still lie in its queue, and nobody is judged
  /// in that call. A detector that is late each time judges from the second call on, so that being slow does
  /// not blind it.
  Judgement judge(Time now);

  /// When this node was heard last, with lost time taken off; 0 if it is not watched.
  Time last_heard(const NodeName& name) const;
  /// Since it was heard last; nothing if it is not watched.
  std::optional<Time> silence(const NodeName& name, Time now) const;
  /// Whoever is watched.
  std::vector<NodeName> names() const;

 private:
  struct Watched {
    PhiAccrual accrual;
    bool suspected = false;
  };

  SuspicionOptions options_;
  std::map<NodeName, Watched> watched_;
  bool late_ = false;  // at the last run
  Time last_run_{0};
};

}  // namespace muster
