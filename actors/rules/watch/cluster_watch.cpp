#include "actors/rules/watch/cluster_watch.hpp"

#include <algorithm>
#include <cmath>

#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "actors/rules/stragglers/straggler_policy.hpp"
#include "actors/rules/stragglers/straggling.hpp"
#include "actors/rules/watch/return_time.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

constexpr int kHeartbeatsPerComplaint = 2;  // complaints are collected for so long
constexpr int kStartPatiences = 5;
constexpr int kTicksOfStandstill = 4;
constexpr int kHeartbeatsUntilSettled = 3;  // one to ask, one to see, one on its way
constexpr int kHeartbeatsOfLateness = 2;
constexpr int kPatiencesOfWaiting = 2;  // it is said again after each patience

std::string rounded(double value) {
  return std::to_string(std::llround(value));
}

SuspicionOptions suspicion_options(const ClusterConfig& cluster, std::chrono::nanoseconds tick) {
  SuspicionOptions options;
  options.heartbeat = cluster.detect.heartbeat;
  options.patience = cluster.detect.patience;
  options.tick = tick;
  return options;
}

}  // namespace

ClusterWatch::ClusterWatch(const ClusterConfig& cluster, Time tick)
    : cluster_(cluster),
      standstill_(std::max<Time>(cluster.detect.patience, kTicksOfStandstill * tick)),
      suspicion_(suspicion_options(cluster, tick)),
      doubt_(cluster.detect.patience, kReturnMax),
      complaints_(kHeartbeatsPerComplaint * cluster.detect.heartbeat),
      waits_(kPatiencesOfWaiting * cluster.detect.patience),
      repeated_(kHeartbeatsUntilSettled * cluster.detect.heartbeat) {}

void ClusterWatch::heard(const Heartbeat& message, Time now) {
  suspicion_.heard(message.name, now);
  still_[message.name] = std::chrono::milliseconds(message.still_ms);
  if (message.measured > 0) shedding_.measured(message.name.slot, message.measured, message.seconds);
}

void ClusterWatch::complained(const Failing& message, Time now) {
  if (canary("loaders-not-watched") && message.peer.loader) return;
  if (message.view == view_.number) complaints_.add(message.name, message.peer, message.reason, now);
}

View ClusterWatch::dealt(View view) const {
  if (!straggler_policy(cluster_).moves_shards || view.replicas.empty()) return view;
  std::vector<std::uint32_t> slots;
  std::uint32_t shards = 0;
  for (const Member& member : view.replicas) {
    slots.push_back(member.name.slot);
    shards = std::max(shards, member.end);
  }
  const auto deal = shedding_.deal(slots, shards);
  for (std::size_t i = 0; i < deal.size(); ++i) {
    view.replicas[i].begin = deal[i].begin;
    view.replicas[i].end = deal[i].end;
  }
  return view;
}

void ClusterWatch::entered(const View& view) {
  complaints_.clear();
  said_.clear();
  waits_.clear();
  repeated_.clear();
  std::vector<std::uint32_t> slots;
  std::vector<ShardInterval> deal;
  for (const Member& member : view.replicas) {
    slots.push_back(member.name.slot);
    deal.push_back({member.begin, member.end});
  }
  shedding_.entered(std::move(slots), std::move(deal));
  if (view.dropping.record > dropping_.record) dropping_ = view.dropping;
  view_ = view;
}

// A loader holds no state: where its link to a replica is broken, it goes; but the last one stays if there
// are replicas enough without that one.
std::vector<Party> ClusterWatch::parties() const {
  const bool replaced = view_.loaders.size() > 1 || cluster_.on_loader_loss == OnLoaderLoss::load_here;
  const bool can_spare = view_.replicas.size() > std::max(cluster_.min_replicas, 1u);
  const std::uint32_t worth = replaced || !can_spare ? 0 : kNeeded;
  std::vector<Party> all;
  for (const Member& member : view_.replicas) all.push_back({member.name, member.end - member.begin});
  for (const Member& member : view_.loaders) all.push_back({member.name, worth});
  for (Party& party : all) {
    const auto still = still_.find(party.name);
    party.stands_still = still != still_.end() && still->second >= cluster_.detect.patience / 2;
  }
  return all;
}

// The members of the view; before the first one, whoever has come.
SelfDoubt::Sight ClusterWatch::look(Time now) {
  std::vector<SelfDoubt::Member> members;
  for (const NodeName& name : suspicion_.names()) {
    const bool counts = view_.replicas.empty() || view_.holds(name);
    const auto kind = name.loader ? SelfDoubt::Kind::loader : SelfDoubt::Kind::replica;
    members.push_back({counts ? kind : SelfDoubt::Kind::newcomer, *suspicion_.silence(name, now)});
  }
  return doubt_.judge(members, now);
}

bool ClusterWatch::in_touch(const NodeName& name, Time now) const {
  if (stands_still(now)) return false;
  if (stood_still_ && now - *stood_still_ < kReturnMax) return false;
  const auto silence = suspicion_.silence(name, now);
  return !silence || *silence < std::min<Time>(cluster_.detect.patience, kUnheardMax) / 2;
}

std::string ClusterWatch::missing() const {
  return "message from " + std::to_string(doubt_.silent()) + " of " + std::to_string(doubt_.of()) +
         " members, which fell silent at once: the coordinator's own link may be down";
}

// A host is busiest while its nodes start: nobody waits for a step then, and a run that fails for a second of
// silence has to be started again.
ClusterWatch::Time ClusterWatch::least_silence() const {
  if (begun_) return Time{0};
  return std::min<Time>(kStartPatiences * cluster_.detect.patience, cluster_.start_patience);
}

// It has just been woken.
bool ClusterWatch::stands_still(Time now) const {
  return judged_ && now - *judged_ > standstill_ && !canary("standstill-is-charged");
}

// What was said meanwhile of links and of who is late may be over; if not, it is said again.
bool ClusterWatch::has_stood_still(Time now) const {
  return stands_still(now) || (stood_still_ && now - *stood_still_ < cluster_.detect.patience);
}

ClusterWatch::Judgement ClusterWatch::judge(const std::function<bool(const NodeName&)>& alive, Time now) {
  suspicion_.keep_only(alive);
  complaints_.keep_only(alive);
  std::erase_if(still_, [&](const auto& each) { return !alive(each.first); });
  if (stands_still(now)) {
    stood_still_ = now;
    doubt_.stood_still(now - *judged_, now);
  }
  judged_ = now;
  Judgement judgement;
  const auto opinions = suspicion_.judge(now).changed;
  judgement.sight = look(now);
  for (const Suspicion::Opinion& opinion : opinions) {
    if (opinion.kind == Suspicion::Kind::silent) {
      if (!doubt_.makes_lost(opinion.silence, now) || opinion.silence < least_silence()) continue;
      judgement.losses.push_back(
          {opinion.name, "coordinator", "silent for " + rounded(milliseconds(opinion.silence)) + " ms"});
      continue;
    }
    const bool suspected = opinion.kind == Suspicion::Kind::suspected;
    judgement.events.push_back(
        make_event(suspected ? "suspected" : "trusted",
                   {{opinion.name.loader ? "loader" : "replica", number(opinion.name.slot)},
                    {"phi", std::round(opinion.phi * 10) / 10},
                    {"silent_ms", milliseconds(opinion.silence)}}));
  }
  if (!judgement.losses.empty()) doubt_.decided();
  if (doubt_.in_doubt(now) || has_stood_still(now)) complaints_.clear();
  for (const auto& eviction : complaints_.judge(
           parties(), [this](const NodeName& name) { return suspicion_.last_heard(name); }, now)) {
    judgement.losses.push_back({eviction.name, eviction.by, eviction.reason, Pace::unknown, eviction.other});
  }
  return judgement;
}

std::string ClusterWatch::cause_of(const HeldUp& message) const {
  if (message.cause != "data" || view_.loaders.empty()) return message.cause;
  return view_.loader_of(message.slot).name.text();
}

Event ClusterWatch::late_event(const HeldUp& message, const Member& late) const {
  const std::string shards =
      late.begin == late.end ? "-" : std::to_string(late.begin) + "-" + std::to_string(late.end - 1);
  return make_event("late", {{"replica", number(message.slot)},
                             {"shards", shards},
                             {"step", number(message.step)},
                             {"waited_for", message.waited_for},
                             {"waited_ms", message.waited_ms},
                             {"cause", cause_of(message)},
                             {"stuck", message.stuck},
                             {"seen_by", message.name.text()}});
}

Event ClusterWatch::late_event(const HeldUp& message) const {
  return make_event("late", {{"loader", number(message.slot)},
                             {"step", number(message.step)},
                             {"waited_for", message.waited_for},
                             {"waited_ms", message.waited_ms},
                             {"cause", message.cause},
                             {"stuck", message.stuck},
                             {"seen_by", message.name.text()}});
}

// A broken link is judged by complaints.
ClusterWatch::Judgement ClusterWatch::loader_held_up(const HeldUp& message, Time now) {
  Judgement judgement;
  if (message.view != view_.number || !view_.holds(message.late())) return judgement;
  if (said_.insert({message.step, message.late(), message.cause, message.stuck}).second)
    judgement.events.push_back(late_event(message));
  if (message.link_broken || doubt_.in_doubt(now) || has_stood_still(now) || canary("loaders-not-watched"))
    return judgement;
  const std::string held =
      message.name.text() + " has waited for it for " + rounded(message.waited_ms) + " ms";
  if (message.stuck) {
    judgement.losses.push_back({message.late(), message.name.text(),
                                held + ", and it has done nothing for cluster.straggler.stuck_after"});
  } else if (straggler_policy(cluster_).evicts && view_.loaders.size() > 1 && is_to_blame(message, now)) {
    judgement.losses.push_back(
        {message.late(), message.name.text(), held + ", and cluster.straggler.action is \"evict\""});
  }
  return judgement;
}

RepeatedLateness::Fault ClusterWatch::fault_of(const HeldUp& message) const {
  if (message.cause == text_of(LateCause::link)) return RepeatedLateness::Fault::link;
  const bool loader = message.cause == text_of(LateCause::data) && !view_.loaders.empty();
  return loader ? RepeatedLateness::Fault::loader : RepeatedLateness::Fault::own;
}

// What a node does is known from its answers, one a heartbeat: what it did a moment ago may be over, and of a
// shorter time nothing is known. And where sums pass through it, one that waits for another's looks like one
// with a slow link.
bool ClusterWatch::is_to_blame(const HeldUp& message, Time now) {
  if (canary("who-waits-is-to-blame")) return true;
  const RepeatedLateness::Fault fault = fault_of(message);
  const bool is_known = message.waited_ms >= milliseconds(kHeartbeatsOfLateness * cluster_.detect.heartbeat);
  if (!is_known || !repeated_.said(message.name, message.late(), fault, message.step, now)) return false;
  return fault != RepeatedLateness::Fault::link || !waits_.waits_itself(message.late(), now);
}

ClusterWatch::Judgement ClusterWatch::held_up(const HeldUp& message, Time now, std::size_t spares) {
  if (message.loader) return loader_held_up(message, now);
  const auto late = std::find_if(view_.replicas.begin(), view_.replicas.end(),
                                 [&](const Member& member) { return member.name.slot == message.slot; });
  Judgement judgement;
  if (message.view != view_.number || late == view_.replicas.end()) return judgement;
  if (said_.insert({message.step, message.late(), message.cause, message.stuck}).second)
    judgement.events.push_back(late_event(message, *late));
  const bool others_wait = message.name != late->name;
  // What was said long ago comes when the link is good again.
  if (doubt_.in_doubt(now) || has_stood_still(now)) return judgement;
  if (others_wait && message.waited_for != kToTake) waits_.waits(message.name, message.late(), now);
  judgement.drops = others_wait && !message.stuck && drop(message, *late);
  const bool loader = message.cause == "data" && !view_.loaders.empty();
  const bool can_go = view_.replicas.size() + spares > std::max(cluster_.min_replicas, 1u);
  const bool restores = message.cause == text_of(LateCause::restoring);  // see rules/going_back
  if (!others_wait || !can_go || loader || restores || message.link_broken) return judgement;
  const std::string held = "it holds up step " + std::to_string(message.step) + " for " +
                           rounded(message.waited_ms) + " ms (" + message.cause + ")";
  if (message.stuck) {
    judgement.losses.push_back({late->name, message.name.text(),
                                held + " and has done nothing for cluster.straggler.stuck_after",
                                Pace::stuck});
  } else if (straggler_policy(cluster_).evicts && is_to_blame(message, now)) {
    judgement.losses.push_back({canary("waiter-is-late") ? message.name : late->name, message.name.text(),
                                held + ", and cluster.straggler.action is \"evict\"", Pace::late});
  }
  return judgement;
}

// The step before went on without it, too, and with each view the silence of a loader, or its standstill,
// begins anew: that it hangs, or that a link to it is broken, must have time to be seen.
bool ClusterWatch::may_lack_its_loader(const HeldUp& message, std::uint64_t record) const {
  const bool loader = message.cause == text_of(LateCause::data) && !view_.loaders.empty();
  return loader && record == dropping_.record + 1 &&
         dropped_for_.contains(view_.loader_of(message.slot).name);
}

bool ClusterWatch::drop(const HeldUp& message, const Member& late) {
  if (straggler_policy(cluster_).step_waits || message.link_broken || !message.ready) return false;
  const std::uint64_t record = view_.records + message.record;
  if (record < dropping_.record || late.begin == late.end || may_lack_its_loader(message, record))
    return false;
  const bool is_first = record > dropping_.record;
  if (!is_first && dropped_in_ != view_.number) return false;
  const std::set<std::uint32_t> dropped = is_first ? std::set<std::uint32_t>{} : dropped_from_;
  const auto has_shards = [](const Member& member) { return member.begin < member.end; };
  const auto adds = [&](const Member& member) {
    return has_shards(member) && member.name != late.name && !dropped.contains(member.name.slot);
  };
  if (2 * std::ranges::count_if(view_.replicas, adds) < std::ranges::count_if(view_.replicas, has_shards))
    return false;
  if (dropped.contains(message.slot)) return false;
  if (is_first) {
    dropping_ = {record, {}};
    dropped_from_.clear();
    dropped_for_.clear();
    dropped_in_ = view_.number;
  }
  dropped_from_.insert(message.slot);
  dropping_.shards.push_back({late.begin, late.end});
  if (message.cause == text_of(LateCause::data) && !view_.loaders.empty())
    dropped_for_.insert(view_.loader_of(message.slot).name);
  return true;
}

std::optional<Shedding::Move> ClusterWatch::shed() {
  if (!straggler_policy(cluster_).moves_shards) return std::nullopt;
  return shedding_.decide();
}

}  // namespace muster
