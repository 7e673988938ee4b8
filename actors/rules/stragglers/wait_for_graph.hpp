// Who waits for whom, as members say: the wait-for graph of deadlock detection (Coffman, Elphick and Shoshani
// 1971). One that waits itself is not to blame for what others wait for it. A pure rule; times are handed in.
#pragma once

#include <chrono>
#include <map>
#include <set>

#include "actors/messages/view.hpp"

namespace muster {

class WaitForGraph {
 public:
  using Time = std::chrono::nanoseconds;

  /// `lasts`: who has not said it again for so long waits no more.
  explicit WaitForGraph(Time lasts) : lasts_(lasts) {}

  void clear();
  /// `waiter` waits for what `late` owes it.
  void waits(const NodeName& waiter, const NodeName& late, Time now);
  /// Whether `late` waits, through others or not, for one that does not wait for it. Where two wait for each
  /// other, neither has another one to blame. Takes time in proportion to what was said.
  bool waits_itself(const NodeName& late, Time now) const;

 private:
  using Edges =
      std::map<NodeName, std::map<NodeName, Time>>;  // from each one to others: when it was said last

  std::set<NodeName> reached(const Edges& edges, const NodeName& from, Time now) const;

  Time lasts_;
  Edges waits_for_, is_waited_for_by_;
};

}  // namespace muster
