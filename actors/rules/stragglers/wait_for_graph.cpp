#include "actors/rules/stragglers/wait_for_graph.hpp"

#include <algorithm>
#include <vector>

namespace muster {

void WaitForGraph::said(const NodeName& waiter, const NodeName& late, const std::string& cause, bool waits,
                        Time now) {
  const auto [at, is_new] = said_.try_emplace({waiter, late}, Said{cause, waits, now, now});
  Said& said = at->second;
  if (!is_new && now - said.last < lasts_ && said.cause == cause && said.waits == waits)
    said.last = now;
  else
    said = {cause, waits, now, now};
}

bool WaitForGraph::is_settled(const NodeName& waiter, const NodeName& late, Time now) const {
  const auto said = said_.find({waiter, late});
  return said != said_.end() && now - said->second.first >= settles_;
}

// All for whom it waits, through others or not.
std::set<NodeName> WaitForGraph::all_before(const NodeName& waiter, Time now) const {
  std::set<NodeName> before;
  std::vector<NodeName> open{waiter};
  while (!open.empty()) {
    const NodeName next = open.back();
    open.pop_back();
    for (const auto& [edge, said] : said_) {
      if (edge.first != next || !said.waits || now - said.last >= lasts_) continue;
      if (before.insert(edge.second).second) open.push_back(edge.second);
    }
  }
  return before;
}

bool WaitForGraph::waits_itself(const NodeName& late, Time now) const {
  return std::ranges::any_of(all_before(late, now),
                             [&](const NodeName& other) { return !all_before(other, now).contains(late); });
}

}  // namespace muster
