// Who still owes a report on the ports of a newcomer, or of others that the newcomer dials: a pure rule.
//
// A node that is ready dials those of other hosts that are, and they dial it. It counts as ready when all
// have said that they reach each other. Who does not answer is not waited for: others watch over that. The
// time in which one of those is not heard does not count, for its answer may be under way.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "actors/messages/view.hpp"

namespace muster {

/// How long a port is dialed, and within what time a node says what came of it.
inline constexpr std::chrono::milliseconds kDialPatience{3000};
inline constexpr std::chrono::milliseconds kReachPatience{5000};
/// And in all, whoever is not heard meanwhile.
inline constexpr std::chrono::milliseconds kReachMax = 12 * kReachPatience;

class ReachWatch {
 public:
  /// All of `by` have been asked to say something about it.
  void ask(const NodeName& about, std::set<NodeName> by) { owed_[about] = {std::move(by), {}, {}, {}}; }
  /// Nothing goes between it and that one; known until it is over, or asked again.
  void failed(const NodeName& about, const NodeName& other) { owed_[about].failed.insert(other); }
  bool has_failed(const NodeName& about, const NodeName& other) const;
  bool owes(const NodeName& by, const NodeName& about) const;
  /// It has said that nothing is wrong.
  void told(const NodeName& by, const NodeName& about) { owed_.at(about).by.erase(by); }
  void forget(const NodeName& about) { owed_.erase(about); }
  /// What was said of it may be due to something else: all are to be asked again, a little later.
  void again(const NodeName& about) {
    forget(about);
    again_.insert(about);
  }
  /// Over another connection: what it said of others on the one before may be lost.
  void came_back(const NodeName& who);
  std::set<NodeName> take_again() { return std::exchange(again_, {}); }
  using Ask = std::function<bool(const NodeName&)>;

  /// Nobody who lives owes a report on these any more, or the time is over; each is named once. Those that
  /// are gone themselves are forgotten. `heard`: whether that one is, now. `passed`: since the last call.
  std::vector<NodeName> over(const Ask& alive, const Ask& heard, std::chrono::milliseconds passed);

 private:
  struct Owed {
    std::set<NodeName> by;
    std::chrono::milliseconds since{0}, in_all{0};
    std::set<NodeName> failed;
  };
  std::map<NodeName, Owed> owed_;
  std::set<NodeName> again_;
};

}  // namespace muster
