// Whom to evict when live members say that the link between them is broken: a pure rule.
//
// A complaint is an edge between who complains and who is complained of; it does not say which of the two is
// to blame. Those go whose data plane is known to stand still. Of the others are evicted the fewest members
// that leave no complaint among the rest (a least vertex cover);
// among equally few those that hold fewer shards together, then those with the higher numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/messages/view.hpp"

namespace muster {

/// A complaint, as a pair of members in either order.
using Complaint = std::pair<NodeName, NodeName>;

/// Instead of a number of shards: it goes last.
inline constexpr std::uint32_t kNeeded = ~std::uint32_t{0};

struct Party {
  NodeName name;
  std::uint32_t shards = 0;
  bool stands_still = false;  ///< the thread of its data plane does nothing, as its node says
};

/// Connected groups of up to so many members are decided exactly; larger ones approximately, with at most
/// twice the fewest.
inline constexpr std::size_t kExactPartiesMax = 32;

/// Who is to be evicted, in ascending order. Complaints that name somebody outside `parties` count for
/// nothing.
std::vector<NodeName> fewest_to_evict(const std::vector<Party>& parties,
                                      const std::vector<Complaint>& complaints);

/// Collects complaints for a moment, so that all who have one are heard before one is judged.
class ComplaintBook {
 public:
  using Time = std::chrono::nanoseconds;

  /// `window`: from the first complaint to the judgement.
  explicit ComplaintBook(Time window) : window_(window) {}

  void add(const NodeName& by, const NodeName& about, const std::string& reason, Time now);
  /// Complaints by or about this node are settled: it is gone.
  void forget(const NodeName& name);
  void keep_only(const std::function<bool(const NodeName&)>& wanted) {
    std::erase_if(entries_, [&](const Entry& entry) { return !wanted(entry.by) || !wanted(entry.about); });
  }
  /// A new view begins without complaints.
  void clear() { entries_.clear(); }
  bool empty() const { return entries_.empty(); }

  struct Eviction {
    NodeName name;
    std::string by;      ///< who complained: "replica 0, replica 2"
    std::string reason;  ///< of the first about one that stays, if any does; and why this one goes
    NodeName other;      ///< the other end of that link
  };
  /// Nothing before the window is over, nor before everybody concerned was heard of after it: who is silent
  /// may be dead, and then no link is to blame. Being silent is for another rule to judge; then `forget` is
  /// called.
  std::vector<Eviction> judge(const std::vector<Party>& alive,
                              const std::function<Time(const NodeName&)>& last_heard, Time now);

 private:
  struct Entry {
    NodeName by, about;
    std::string reason;
    Time since{0};
  };

  Time window_;
  std::vector<Entry> entries_;  // one for each pair of `by` and `about`, in the order of arrival
};

}  // namespace muster
