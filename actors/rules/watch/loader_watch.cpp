#include "actors/rules/watch/loader_watch.hpp"

#include <algorithm>

#include "actors/events/event_fields.hpp"
#include "actors/rules/stragglers/straggling.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

std::string no_frame_for(std::chrono::nanoseconds time) {
  return "no frame of it for " +
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

}  // namespace

// A loader that owes this node nothing does nothing for it, whatever it does for others. While only its
// reports do not come nothing is known of it. Behind a silence its time begins anew: the demands may come
// only now.
bool LoaderWatch::is_stuck(const LoadingSight& sight) const {
  const auto stuck_after = cluster_.straggler.stuck_after;
  const PeerSight& loader = sight.loader;
  const Time waited = loader.status_at - sight.waiting_since;
  Time since = std::max(sight.waiting_since, silent_at_);
  if (sight.owes > 0) since = std::max(since, loader.progress);
  const Time still = loader.status_at - since;
  const bool silent = loader.unanswered_since && !sight.arriving &&
                      sight.now - std::max(*loader.unanswered_since, sight.waiting_since) >= stuck_after;
  return silent || still >= stuck_after || waited >= kStuckAtLast * stuck_after;
}

LoaderWatch::Time LoaderWatch::silence_allowed(const LoadingSight& sight) const {
  return (sight.arriving ? kArrivingPatiences : 1) * Time(cluster_.detect.patience);
}

bool LoaderWatch::is_news(bool stuck, Time now) {
  const bool first = !said_.late || (stuck && !said_.stuck);
  if (!first && now - *said_.late < cluster_.detect.patience) return false;
  said_.late = now;
  said_.stuck = said_.stuck || stuck;
  return true;
}

LoaderWatch::Findings LoaderWatch::of(const LoadingSight& sight, const NodeName& loader, std::uint64_t step) {
  if (said_.view != sight.view || said_.waiting_since != sight.waiting_since)
    said_ = {sight.view, sight.waiting_since, std::nullopt, false,
             said_.view == sight.view ? said_.link : std::nullopt};
  const NodeName name{false, self_};
  const Time waited = sight.now - sight.waiting_since;
  const Time silent = sight.loader.unanswered_since ? sight.now - *sight.loader.unanswered_since : Time{0};
  const bool broken = silent >= silence_allowed(sight);
  if (silent >= Time(cluster_.detect.patience)) silent_at_ = sight.now;
  const bool stuck = !broken && is_stuck(sight);
  Findings findings;
  // Again after each further patience: the coordinator forgets what it cannot judge.
  if (broken && (!said_.link || sight.now - *said_.link >= cluster_.detect.patience)) {
    said_.link = sight.now;
    findings.complaint = Failing{name, sight.view, true, loader, no_frame_for(silent)};
  }
  const auto given = cluster_.straggler.patience;
  const auto patience = straggler_patience(
      given.count() == 0 ? std::nullopt : std::optional<std::chrono::nanoseconds>(given), sight.median_step);
  if ((stuck || broken || waited >= patience) && is_news(stuck, sight.now)) {
    findings.held_up = HeldUp{name,
                              sight.view,
                              0,
                              0,
                              step,
                              loader.slot,
                              text_of(broken ? LateCause::link : LateCause::data),
                              std::to_string(sight.unanswered) + " micro-batches",
                              milliseconds(waited),
                              stuck,
                              broken,
                              false,
                              true};
  }
  const Time asked_ago = sight.now - std::max(sight.asked_at, sight.waiting_since);
  findings.ask_again = !broken && !sight.arriving && sight.owes == 0 &&
                       asked_ago >= kAskAgainPatiences * Time(cluster_.detect.patience) &&
                       !canary("demand-asked-once");
  return findings;
}

}  // namespace muster
