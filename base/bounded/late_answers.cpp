#include "base/bounded/late_answers.hpp"

#include <algorithm>
#include <utility>

namespace muster {

bool LateAnswers::is_over(const LateAnswer& answer, Time now) {
  return now - answer.came > kKept || (!answer.is_of_change && now - answer.asked > kReadAgeMax);
}

void LateAnswers::keep(const std::string& what, LateAnswer answer) {
  answers_.insert_or_assign(what, std::move(answer));
  if (answers_.size() <= kMax) return;
  answers_.erase(std::ranges::min_element(answers_, {}, [](const auto& each) { return each.second.came; }));
}

std::optional<LateAnswer> LateAnswers::to(const std::string& what, Time now) {
  std::erase_if(answers_, [now](const auto& each) { return is_over(each.second, now); });
  const auto found = answers_.find(what);
  if (found == answers_.end()) return std::nullopt;
  LateAnswer answer = found->second;
  if (answer.refusal) answers_.erase(found);
  return answer;
}

}  // namespace muster
