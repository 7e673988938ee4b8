#include "transport/collective/transfer/transfer_pace.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster {

namespace {

TransferPace::Time part_of(TransferPace::Time time, double share) {
  return TransferPace::Time(static_cast<std::int64_t>(static_cast<double>(time.count()) * share));
}

}  // namespace

// Time passes: it is earned, and spent while something is on its way.
void TransferPace::pass(Time now, Time most) {
  most_ = most;
  const Time passed = std::max(now - last_, Time{0});
  last_ = std::max(last_, now);
  balance_ += part_of(passed, share_);
  if (on_their_way_ > 0) {
    balance_ -= passed;
    busy_ += passed;
  }
  balance_ = std::clamp(balance_, -kOverdraftMax, most_);
}

TransferPace::Verdict TransferPace::judge(const Sight& sight) {
  pass(sight.now, std::min(sight.step, part_of(kKept, share_)));
  if (!sight.steps_run) return {true, "no steps run"};
  if (sight.hurry) return {true, "the newcomer would fall out of reach"};
  if (sight.small) return {true, "it is small"};
  // Several at once, so that the way is never empty between two, as long as all of them are paid for.
  const bool more = on_their_way_ > 0;
  const Time owed = piece_time_ * static_cast<std::int64_t>(on_their_way_);
  if (balance_ < owed || (more && owed == Time{0})) return {false, "the share is used up"};
  if (!sight.round_sends) {
    yields_since_.reset();
    return {true, "the share allows it"};
  }
  if (!yields_since_) yields_since_ = sight.now;
  if (sight.now - *yields_since_ < kYieldMax) return {false, "a round sends"};
  return {true, "a round sends, for too long"};
}

void TransferPace::began(Time now) {
  pass(now, most_);
  if (on_their_way_++ == 0) marked_ = now;
}

void TransferPace::ended(Time now) {
  MUSTER_CHECK(on_their_way_ > 0, now.count());
  pass(now, most_);
  --on_their_way_;
  // The last one of a transfer is shorter than the rest, and says little of them.
  piece_time_ = std::max(now - std::exchange(marked_, now), piece_time_ * 7 / 8);
}

}  // namespace muster
