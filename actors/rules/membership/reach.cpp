#include "actors/rules/membership/reach.hpp"

#include <algorithm>

namespace muster {

bool ReachWatch::owes(const NodeName& by, const NodeName& about) const {
  const auto found = owed_.find(about);
  return found != owed_.end() && found->second.by.contains(by);
}

bool ReachWatch::has_failed(const NodeName& about, const NodeName& other) const {
  const auto found = owed_.find(about);
  return found != owed_.end() && found->second.failed.contains(other);
}

void ReachWatch::came_back(const NodeName& who) {
  std::set<NodeName> lost;
  for (const auto& [about, owed] : owed_) {
    if (owed.by.contains(who)) lost.insert(about);
  }
  for (const NodeName& about : lost) again(about);
}

std::vector<NodeName> ReachWatch::over(const Ask& alive, const Ask& heard, std::chrono::milliseconds passed) {
  std::vector<NodeName> over;
  for (auto each = owed_.begin(); each != owed_.end();) {
    const NodeName about = each->first;
    Owed& owed = each->second;
    std::erase_if(owed.by, [&](const NodeName& by) { return !alive(by); });
    if (std::ranges::all_of(owed.by, heard)) owed.since += passed;
    owed.in_all += passed;
    const bool lives = alive(about);
    const bool is_over = owed.by.empty() || owed.since >= kReachPatience || owed.in_all >= kReachMax;
    if (lives && is_over) over.push_back(about);
    each = lives && !is_over ? std::next(each) : owed_.erase(each);
  }
  return over;
}

}  // namespace muster
