#include "muster/actors/rules/corruption.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace muster {

namespace {

// Whose opinion it is: that of the source, if this agrees, or is not there to be asked.
std::uint32_t voter(const Suspects& suspects, const Suspects::Opinion& opinion) {
  const auto source = std::find_if(suspects.opinions.begin(), suspects.opinions.end(),
                                   [&](const auto& other) { return other.slot == opinion.source; });
  const bool same = source == suspects.opinions.end() || source->group == opinion.group;
  return same ? opinion.source : opinion.slot;
}

// Who was there before has taken the steps that all go on from; one who comes has not.
std::optional<std::vector<std::uint32_t>> odd_newcomers(const std::vector<Suspects::Opinion>& opinions) {
  std::set<std::uint32_t> groups;
  std::vector<std::uint32_t> odd;
  for (const auto& opinion : opinions) {
    if (!opinion.newcomer) groups.insert(opinion.group);
  }
  if (groups.size() != 1) return std::nullopt;
  for (const auto& opinion : opinions) {
    if (!groups.contains(opinion.group)) odd.push_back(opinion.slot);
  }
  return odd;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> odd_ones(const Suspects& suspects) {
  const auto& opinions = suspects.opinions;
  std::map<std::uint32_t, std::set<std::uint32_t>> voters;  // by group
  std::size_t all = 0;
  for (const Suspects::Opinion& opinion : opinions)
    all += voters[opinion.group].insert(voter(suspects, opinion)).second ? 1 : 0;
  const auto majority = std::find_if(voters.begin(), voters.end(),
                                     [&](const auto& group) { return 2 * group.second.size() > all; });
  if (voters.size() < 2) return std::nullopt;
  if (majority == voters.end()) return std::nullopt;
  std::vector<std::uint32_t> odd;
  for (const Suspects::Opinion& opinion : opinions) {
    if (opinion.group != majority->first) odd.push_back(opinion.slot);
  }
  return odd;
}

Judgement judge_bits(const Suspects& suspects, OnCorruption policy) {
  using Act = Judgement::Act;
  auto odd = odd_ones(suspects);
  const bool tells_more = !odd && suspects.bits == Bits::gradient && !suspects.all_compared;
  const bool sure = odd.has_value();
  if (!odd && !tells_more && suspects.all_heard) odd = odd_newcomers(suspects.opinions);
  Judgement judgement{Act::stop, odd.value_or(std::vector<std::uint32_t>{}), sure || !odd};
  if (policy == OnCorruption::report) judgement.act = Act::report;
  if (policy != OnCorruption::evict) return judgement;
  if (odd)
    judgement.act = Act::evict;
  else if (tells_more)
    judgement.act = Act::again;
  return judgement;
}

}  // namespace muster
