#include "actors/rules/stragglers/wait_for_graph.hpp"

#include <algorithm>
#include <vector>

namespace muster {

void WaitForGraph::clear() {
  waits_for_.clear();
  is_waited_for_by_.clear();
}

void WaitForGraph::waits(const NodeName& waiter, const NodeName& late, Time now) {
  waits_for_[waiter][late] = now;
  is_waited_for_by_[late][waiter] = now;
}

// Through others or not.
std::set<NodeName> WaitForGraph::reached(const Edges& edges, const NodeName& from, Time now) const {
  std::set<NodeName> seen;
  std::vector<NodeName> open{from};
  while (!open.empty()) {
    const auto next = edges.find(open.back());
    open.pop_back();
    if (next == edges.end()) continue;
    for (const auto& [other, said] : next->second) {
      if (now - said < lasts_ && seen.insert(other).second) open.push_back(other);
    }
  }
  return seen;
}

bool WaitForGraph::waits_itself(const NodeName& late, Time now) const {
  const auto before = reached(waits_for_, late, now), behind = reached(is_waited_for_by_, late, now);
  return !std::ranges::includes(behind, before);
}

}  // namespace muster
