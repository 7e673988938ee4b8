#include "actors/rules/steps/corruption.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace muster {

namespace {

using Slots = std::set<std::uint32_t>;

// Whose opinion it may be: its own, and that of each source that agrees, or is not there to be asked.
Slots minds_behind(const Suspects& suspects, const Suspects::Opinion& opinion) {
  Slots minds{opinion.slot};
  for (const std::uint32_t source : opinion.sources) {
    const auto asked = std::ranges::find(suspects.opinions, source, &Suspects::Opinion::slot);
    if (asked == suspects.opinions.end() || asked->group == opinion.group) minds.insert(source);
  }
  return minds;
}

// Opinions that may be of one mind are one vote.
void add_vote(std::vector<Slots>& votes, Slots minds) {
  std::erase_if(votes, [&](Slots& vote) {
    const bool same = std::ranges::any_of(vote, [&](std::uint32_t slot) { return minds.contains(slot); });
    if (same) minds.merge(vote);
    return same;
  });
  votes.push_back(std::move(minds));
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
  if (odd.empty()) return std::nullopt;
  return odd;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> odd_ones(const Suspects& suspects) {
  const auto& opinions = suspects.opinions;
  std::map<std::uint32_t, std::vector<Slots>> votes;  // by group
  for (const Suspects::Opinion& opinion : opinions)
    add_vote(votes[opinion.group], minds_behind(suspects, opinion));
  std::size_t all = 0;
  for (const auto& [group, of_group] : votes) all += of_group.size();
  const auto majority =
      std::ranges::find_if(votes, [&](const auto& group) { return 2 * group.second.size() > all; });
  if (votes.size() < 2 || majority == votes.end()) return std::nullopt;
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
