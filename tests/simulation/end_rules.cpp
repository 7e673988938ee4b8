#include "tests/simulation/end_rules.hpp"

#include <algorithm>

namespace muster::simulation {

void Outage::begins(Nanoseconds now, Nanoseconds lasts) {
  if (now > until_ + looks_) {
    longest_ = longest(now);
    since_ = now;
  }
  until_ = std::max(until_, now + lasts);
}

Outage::Nanoseconds Outage::longest(Nanoseconds now) const {
  return std::max(longest_, std::min(now, until_) - since_);
}

void FailedPlaces::failed(const NodeName& who, const ErrorPlace& at) {
  if (at.known()) at_[at].insert(who);
}

bool FailedPlaces::two_have_failed(const std::string& reason) const {
  return std::ranges::any_of(at_, [&](const auto& place) {
    const auto& [at, who] = place;
    return who.size() > 1 && reason.starts_with("two nodes have failed at " + at.text() + ",");
  });
}

bool may_stop_for_wrong_bits(OnCorruption policy, std::size_t minds) {
  if (policy == OnCorruption::report) return false;
  return policy == OnCorruption::stop || minds < 3;
}

bool may_have_done_no_step(std::span<const std::uint64_t> steps, bool given_up) {
  return given_up || std::ranges::all_of(steps, [](std::uint64_t each) { return each == 0; });
}

bool writing_may_be_held_up(const Tally& tally, bool in_parts) {
  static constexpr const char* kOfOne[] = {"disk-full", "disk-refuses", "disk-away",
                                           // Nobody hears the coordinator for longer than that.
                                           "coordinator-stands", "coordinator-gives-up"};
  const auto happened = [&](const char* kind) { return tally.of(std::string("fault: ") + kind) > 0; };
  // One that has a part of it.
  const bool hangs =
      happened("freeze-for-good") || happened("hang-everywhere") || happened("deaf-to-greetings");
  return std::ranges::any_of(kOfOne, happened) || (in_parts && hangs);
}

}  // namespace muster::simulation
