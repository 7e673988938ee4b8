// Who waits for whom, as members say: the wait-for graph of deadlock detection (Coffman, Elphick and Shoshani
// 1971). One that waits itself is not to blame for what others wait for it. A pure rule; times are handed in.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "actors/messages/view.hpp"

namespace muster {

class WaitForGraph {
 public:
  using Time = std::chrono::nanoseconds;

  /// `settles`: within this time after one has said so, all have said for whom they wait.
  /// `lasts`: after this time without a repetition it is over.
  WaitForGraph(Time settles, Time lasts) : settles_(settles), lasts_(lasts) {}

  void clear() { said_.clear(); }
  /// `waiter` says that `late` is late. `waits`: for what that one owes; else that one does not take what it
  /// was sent.
  void said(const NodeName& waiter, const NodeName& late, const std::string& cause, bool waits, Time now);

  /// Whether it says so, with the same cause, since so long that the late one has said, too, for whom it
  /// waits.
  bool is_settled(const NodeName& waiter, const NodeName& late, Time now) const;
  /// Whether `late` waits, through others or not, for one that does not wait for it. Where two wait for each
  /// other, neither has another one to blame.
  bool waits_itself(const NodeName& late, Time now) const;

 private:
  struct Said {
    std::string cause;
    bool waits = false;
    Time first{0}, last{0};
  };

  std::set<NodeName> all_before(const NodeName& waiter, Time now) const;

  Time settles_, lasts_;
  std::map<std::pair<NodeName, NodeName>, Said> said_;  // by who waits, and for whom
};

}  // namespace muster
