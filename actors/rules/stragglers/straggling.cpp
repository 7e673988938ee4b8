#include "actors/rules/stragglers/straggling.hpp"

#include <algorithm>
#include <utility>

namespace muster {

namespace {

constexpr int kMedianSteps = 3;
constexpr std::chrono::nanoseconds kPatienceMin = std::chrono::seconds(1);

std::chrono::nanoseconds silence_of(const PeerSight& peer, std::chrono::nanoseconds now) {
  return peer.unanswered_since ? now - *peer.unanswered_since : std::chrono::nanoseconds{0};
}

// All is there, but what this member has sent is not taken.
bool takes_nothing(const PeerSight& peer) {
  return peer.header_in && peer.metrics_in && peer.sums_in && !peer.taken;
}

// It has computed what it had to, and only passes sums on: what it did before does not hold up anybody.
bool passes_sums_on(const PeerSight& peer) {
  return peer.header_in && peer.metrics_in && peer.doing.activity == Activity::reducing;
}

// Not a frame for so long: the link. Else what it spent most of the wait with; one that says that it has done
// its part, while nothing of it comes, has a slow link.
LateCause cause_of(const PeerSight& peer, const StragglerOptions& options, std::chrono::nanoseconds now) {
  if (silence_of(peer, now) >= options.link_patience) return LateCause::link;
  if (peer.doing.activity == Activity::restoring) return LateCause::restoring;
  if (takes_nothing(peer) || passes_sums_on(peer)) return LateCause::link;
  const auto spent = [&](Activity activity) { return peer.spent[static_cast<std::size_t>(activity)]; };
  const auto data = spent(Activity::loading), link = spent(Activity::reducing);
  const auto compute = spent(Activity::computing) + spent(Activity::updating) + spent(Activity::idle);
  // What it did between two answers is not known; at least it loads now.
  const bool loads_still = peer.doing.activity == Activity::loading && 2 * data >= compute;
  if ((data > compute || loads_still) && data > link) return LateCause::data;
  return link > compute ? LateCause::link : LateCause::compute;
}

// Whether it has said anything since it is waited for: pings go once a heartbeat.
bool has_answered(const PeerSight& peer) {
  return peer.doing.activity == Activity::restoring ||
         std::ranges::any_of(peer.spent, [](const auto& time) { return time.count() > 0; });
}

// It has not begun the round, and waits for others: for their parts of the state, or in the round before.
bool waits_before_the_round(const PeerSight& peer) {
  return !peer.header_in && peer.doing.activity == Activity::reducing && has_answered(peer);
}

const char* owed_by(const PeerSight& peer) {
  if (takes_nothing(peer)) return kToTake;
  if (!peer.header_in) return "its header";
  return peer.metrics_in ? "the elements that it adds up" : "its sums";
}

}  // namespace

std::chrono::nanoseconds straggler_patience(std::optional<std::chrono::nanoseconds> given,
                                            std::chrono::nanoseconds median_step) {
  return given ? *given : std::max(kMedianSteps * median_step, kPatienceMin);
}

const char* text_of(LateCause cause) {
  switch (cause) {
    case LateCause::data:
      return "data";
    case LateCause::compute:
      return "compute";
    case LateCause::link:
      return "link";
    case LateCause::restoring:
      return "restoring";
  }
  return "?";
}

std::vector<Lateness> who_is_late(const RoundSight& sight, const StragglerOptions& options) {
  const auto now = sight.now;
  const bool any_without_metrics =
      std::any_of(sight.peers.begin(), sight.peers.end(),
                  [](const PeerSight& peer) { return !peer.header_in || !peer.metrics_in; });
  const bool any_silent = std::any_of(sight.peers.begin(), sight.peers.end(), [](const PeerSight& peer) {
    return peer.owes() && !has_answered(peer);
  });
  const bool any_holds_up = std::ranges::any_of(
      sight.peers, [](const PeerSight& peer) { return !peer.header_in && !waits_before_the_round(peer); });
  std::vector<Lateness> all;
  for (const PeerSight& peer : sight.peers) {
    const bool owes_metrics = !peer.header_in || !peer.metrics_in;
    if (!owes_metrics && (any_without_metrics || (peer.sums_in && peer.taken))) continue;
    Lateness late;
    late.slot = peer.peer;
    // What follows from the reports of all is waited for from the last of them on.
    const bool follows = !owes_metrics || (peer.header_in && sight.metrics_follow);
    late.waited = now - (follows ? std::max(sight.waiting_since, sight.last_report_at) : sight.waiting_since);
    late.waited_for = owed_by(peer);
    late.cause = cause_of(peer, options, now);
    late.silent = silence_of(peer, now);
    late.link_broken = late.silent >= options.link_patience;
    // A step without the only one that has samples would be made again and again: it is waited for.
    const bool others_add =
        sight.samples || std::any_of(sight.peers.begin(), sight.peers.end(), [&](const PeerSight& other) {
          return other.peer != peer.peer && other.samples;
        });
    const bool restores = late.cause == LateCause::restoring;
    late.ready = has_sums(sight.kind) && !restores && !peer.metrics_in && others_add &&
                 (peer.header_in || late.cause == LateCause::data);
    // While it waited for others itself it had nothing to do. While only its reports do not come nothing is
    // known of it: the pings may not arrive.
    const auto still = std::max(peer.status_at - std::max(peer.progress, now - late.waited),
                                std::min(late.waited, late.silent));
    late.stuck = late.cause != LateCause::link && !restores && still >= options.stuck_after;
    const bool answers = has_answered(peer) || late.silent >= options.patience / 2;
    // It may wait, in the round before, for the one of whom nothing is heard, or who does something else.
    const bool waits_itself =
        (any_silent && has_answered(peer) && peer.doing.activity == Activity::reducing) ||
        (any_holds_up && waits_before_the_round(peer));
    const bool past = late.waited >= options.patience && answers && !waits_itself;
    if (past || late.link_broken || late.stuck) all.push_back(late);
  }
  std::sort(all.begin(), all.end(), [](const Lateness& a, const Lateness& b) { return a.slot < b.slot; });
  return all;
}

bool LateMemory::is_news(std::uint32_t view, std::uint64_t round, const Lateness& late,
                         std::chrono::nanoseconds patience) {
  if (view != view_ || round != round_) {
    said_.clear();
    patiences_.clear();
  }
  view_ = view;
  round_ = round;
  const bool news = said_.insert({late.slot, late.cause, late.stuck, late.ready}).second;
  const std::int64_t patiences = late.waited / patience;
  return std::exchange(patiences_[late.slot], patiences) != patiences || news;
}

}  // namespace muster
