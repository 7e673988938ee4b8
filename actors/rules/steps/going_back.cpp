#include "actors/rules/steps/going_back.hpp"

#include <algorithm>
#include <set>

namespace muster {

GoingBack::Verdict GoingBack::judge(const std::vector<std::uint32_t>& members) const {
  std::vector<std::uint32_t> can, cannot, silent;
  std::set<Unread> reasons;
  for (const std::uint32_t slot : members) {
    const auto answer = said_.find(slot);
    if (answer == said_.end()) {
      silent.push_back(slot);
      continue;
    }
    const bool is_back = answer->second.why.empty();
    (is_back ? can : cannot).push_back(slot);
    if (!is_back) reasons.insert(answer->second.unread);
  }
  const bool any_can = !can.empty();
  if (any_can && !cannot.empty()) return {Act::lose, cannot, any_can};
  if (!any_can && cannot.empty()) return {};
  if (!silent.empty()) return {Act::wait, silent, any_can};
  if (any_can) return {Act::nothing, {}, any_can};
  if (reasons.contains(Unread::no)) return {Act::older};
  return {reasons.contains(Unread::refused) ? Act::away : Act::gone};
}

std::string GoingBack::refusal() const {
  const auto answer =
      std::ranges::find_if(said_, [](const auto& each) { return each.second.unread == Unread::refused; });
  return answer == said_.end() ? std::string() : answer->second.why;
}

bool GoingBack::any_has_read() const {
  return std::ranges::any_of(
      said_, [](const auto& each) { return !each.second.why.empty() && each.second.unread == Unread::no; });
}

std::string GoingBack::why() const {
  std::string any;
  for (const auto& [slot, answer] : said_) {
    if (answer.why.empty()) continue;
    if (answer.unread == Unread::no) return answer.why;
    any = answer.why;
  }
  return any;
}

Unread GoingBack::unread(std::uint32_t slot) const {
  const auto answer = said_.find(slot);
  return answer == said_.end() ? Unread::no : answer->second.unread;
}

std::string GoingBack::why(std::uint32_t slot) const {
  const auto answer = said_.find(slot);
  return answer == said_.end() ? std::string() : answer->second.why;
}

}  // namespace muster
