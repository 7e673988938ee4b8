#include "muster/actors/rules/going_back.hpp"

#include <algorithm>

namespace muster {

GoingBack::Verdict GoingBack::judge(const std::vector<std::uint32_t>& members) const {
  std::vector<std::uint32_t> can, cannot, silent;
  bool refused = false;
  for (const std::uint32_t slot : members) {
    const auto word = said_.find(slot);
    if (word == said_.end())
      silent.push_back(slot);
    else
      (word->second.why.empty() ? can : cannot).push_back(slot);
    refused |= word != said_.end() && word->second.disk;
  }
  if (!can.empty() && !cannot.empty()) return {Act::lose, cannot};
  if (can.empty() && cannot.empty()) return {};
  if (!silent.empty()) return {Act::wait, silent};
  return cannot.empty() ? Verdict{} : Verdict{refused ? Act::away : Act::older, {}};
}

std::string GoingBack::refusal() const {
  const auto word = std::ranges::find_if(said_, [](const auto& each) { return each.second.disk; });
  return word == said_.end() ? std::string() : word->second.why;
}

std::string GoingBack::why(std::uint32_t slot) const {
  const auto word = said_.find(slot);
  return word == said_.end() ? std::string() : word->second.why;
}

}  // namespace muster
