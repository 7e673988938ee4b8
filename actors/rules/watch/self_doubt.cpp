#include "actors/rules/watch/self_doubt.hpp"

#include <algorithm>
#include <utility>

#include "base/canary.hpp"

namespace muster {

namespace {

constexpr std::size_t kLeastForMajority = 3;

}  // namespace

// At once: when the first of them has been silent for the patience, the others have been for half of it.
SelfDoubt::Sight SelfDoubt::look(std::span<const Member> members, Time now) {
  silent_ = of_ = 0;
  const auto quiet_since = std::exchange(quiet_since_, std::nullopt);
  if (members.empty()) return Sight::clear;
  const Kind judged = std::ranges::max(members, {}, &Member::kind).kind;
  std::size_t all = 0, all_quiet = 0;
  Time longest{0}, shortest = Time::max();
  for (const Member& member : members) {
    longest = std::max(longest, member.silence);
    if (member.kind == Kind::newcomer && judged != Kind::newcomer) continue;
    const bool quiet = member.silence >= patience_ / 2;
    ++of_;
    silent_ += quiet;
    if (member.kind != judged) continue;
    ++all;
    all_quiet += quiet;
    shortest = std::min(shortest, member.silence);
  }
  const bool begins = longest >= patience_ || sight_ == Sight::all_silent;
  const bool quiet = all > 0 && all_quiet == all && !canary("no-self-doubt");
  if (quiet) quiet_since_ = quiet_since.value_or(quiet_from(now - shortest));
  if (!quiet && quiet_since) excuse(now - *quiet_since, now);
  if (quiet && begins) {
    if (sight_ == Sight::clear) since_ = quiet_from(now - shortest);
    return Sight::all_silent;
  }
  const bool majority = of_ >= kLeastForMajority && 2 * silent_ > of_ && longest >= patience_;
  if (majority && sight_ == Sight::clear) since_ = now - longest;
  return majority ? Sight::majority_silent : Sight::clear;
}

SelfDoubt::Sight SelfDoubt::judge(std::span<const Member> members, Time now) {
  const Sight sight = look(members, now);
  if (sight < sight_) excuse(now - since_, now);
  return sight_ = sight;
}

// Of a silence that goes on behind a standstill nobody knows when it began.
SelfDoubt::Time SelfDoubt::quiet_from(Time since) const {
  return woken_ && since <= *woken_ + patience_ / 2 ? std::min(since, asleep_from_) : since;
}

void SelfDoubt::stood_still(Time time, Time now) {
  woken_ = now;
  asleep_from_ = now - time;
  excuse(time + patience_, now);  // less than half a patience more of it is not seen
}

// Who was silent with the others may be back later than they.
void SelfDoubt::excuse(Time silence, Time now) {
  excused_until_ = std::max(excused_until_, now + std::min(silence, return_max_));
}

bool SelfDoubt::makes_lost(Time silence, Time now) const {
  if (sight_ == Sight::all_silent || now < excused_until_) return false;
  const bool waits_longer = sight_ == Sight::majority_silent && !canary("majority-is-lost");
  return silence >= (waits_longer ? (1 + kMajorityPatiences) * patience_ : patience_);
}

}  // namespace muster
