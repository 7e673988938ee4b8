#include "tests/simulation/invariants.hpp"

#include <algorithm>
#include <limits>

#include "actors/rules/nodes/work.hpp"
#include "tests/simulation/planted_errors.hpp"

namespace muster::simulation {

namespace {

constexpr const char* kAlgorithmNames[] = {"auto", "direct", "halving and doubling", "hierarchical",
                                           "one shot"};

constexpr PeerId kLoaderPeers = PeerId{1} << 20;  // as the nodes number them

template <class Message>
const Message* as(const caf::message& message) {
  return message.match_elements<Message>() ? &message.get_as<Message>(0) : nullptr;
}

// A node says of itself that it cannot go on: only where a fault was planted in it, or at its disk.
bool fails_by_a_fault(const std::string& reason) {
  return reason.find(kPlantedError) != std::string::npos ||
         reason.find("could not be written") != std::string::npos;
}

}  // namespace

const std::map<int, std::string>& invariant_list() {
  static const std::map<int, std::string> list = {
      {1, "every sample is in exactly one committed step of each completed epoch"},
      {2, "every replica has the same state after each step"},
      {3, "a step commits at most once, in one view, with one divisor"},
      {4, "the result is that of one process"},
      {5, "no frame of an old view or a dead incarnation changes anything; promises are kept"},
      {6, "two halves of a cluster never both go on; views are numbered upwards"},
      {7, "a newcomer adds nothing before its state is the oracle's"},
      {8, "a checkpoint is whole, and the oracle's at its step"},
      {9, "no buffer is used before its transfer has ended"},
      {10, "everything has gone at the end"},
      {11, "without lasting faults, steps commit in time; who has no fault is not evicted"},
      {12, "every failure reaches everyone in time"},
      {13, "the same seed has the same sequence of events"},
      {14, "every fault and every rare branch is seen"}};
  return list;
}

Invariants::Invariants(const Job& job, Retrain retrain, Tally& tally)
    : job_(job),
      retrain_(std::move(retrain)),
      oracle_(retrain_({})),
      tally_(tally),
      views_(job.train.shards, job.train.in_parts()) {}

void Invariants::say(Wrong wrong) {
  if (wrong && !wrong_) wrong_ = std::move(wrong);
}

void Invariants::say(ProcessId process, Wrong wrong) {
  if (!wrong) return;
  wrong.what = cluster_->world().name(process) + ": " + wrong.what;
  say(std::move(wrong));
}

void Invariants::process_began(ProcessId process, const NodeName& name, std::uint64_t incarnation) {
  const bool named = cluster_->world().name(process) == name.text();
  seen_.emplace(process, Seen{name, named, incarnation, ReplicaRule(oracle_), {}, 0, false, false});
  if (bits_lost_) seen(process).replica.strays();
}

// ---- records

void Invariants::record(ProcessId process, std::uint32_t view, const RoundRecord& record) {
  if (!is_recorded(record.kind)) return;
  if (is_member(process)) worked_at_ = now();
  say(process, seen(process).frames.record(view, record.round));
  if (job_.train.not_finite == OnNotFinite::stop &&
      is_not_finite(record)) {  // whoever takes it takes it back
    tally_.count("round: not finite");
    progress_at_ = now();
    return;
  }
  if (record_of_wrong_bits(process, view, record)) return;
  if (views_.given_up(view)) return seen(process).replica.strays();
  Seen& who = seen(process);
  const std::uint64_t from = views_.from(view);
  const std::uint64_t index = who.replica.next(view, from);
  follow_decision(process, view, index, record);
  if (Wrong wrong = who.replica.record(view, from, record)) return say(process, std::move(wrong));
  say(views_.committed(who.name.slot, view, index));
  if (who.replica.is_astray()) return;  // it is out of the run
  const auto [known, first] = record_hashes_.emplace(index, std::pair(view, record.hash));
  if (known->second.first != view && (is_alone_on_gpu(view) || is_alone_on_gpu(known->second.first)))
    known->second = {view, record.hash};
  if (known->second.second != record.hash && !differs_by_wrong_bits(view, known->second.first))
    say(process, {2, "its record " + std::to_string(index) + " is not the one that others have"});
  if (first) {
    ++commits_;
    progress_at_ = now();
  }
  if (record.kind == RoundKind::evaluate) tally_.count("round: evaluation");
  if (record.kind == RoundKind::train && record.weight != 0) {
    tally_.count(std::string("sums: ") + kAlgorithmNames[static_cast<std::size_t>(job_.reduce.algorithm)]);
    if (job_.train.shard_optimizer) tally_.count("sums: of a sharded optimizer");
    if (job_.train.shards_have_state()) tally_.count("sums: compressed");
    if (job_.train.compression.kind == CompressionKind::powersgd) tally_.count("sums: of low rank");
    if (job_.reduce.bucket_bytes > 0) tally_.count("sums: in buckets");
    if (job_.train.clip_norm) tally_.count("sums: clipped");
    if (job_.train.wire != GradientWire::float32) tally_.count("sums: in 16 bits");
    if (const auto of = views_.views().find(view); of != views_.views().end() && of->second.sums_on_gpus)
      tally_.count("sums: on GPUs");
  }
  if (record.kind == RoundKind::train && record.weight == 0) tally_.count("round: end of an epoch");
  const View* latest = views_.latest();
  if (latest && view < latest->number) tally_.count("view: a record is taken by one left behind");
  if (closing_ == view && view > 0) tally_.count("view: a record is taken while the view is being closed");
}

// A step that goes on without some shards, as its view says, has other bits from then on; unless another
// member has its record already. Who is left behind with a record that the others decide otherwise is out of
// it.
void Invariants::follow_decision(ProcessId process, std::uint32_t view, std::uint64_t index,
                                 const RoundRecord& record) {
  if (job_.cluster.straggler.action != StragglerAction::drop || record.kind != RoundKind::train) return;
  const auto made = views_.views().find(view);
  if (made == views_.views().end() || index >= oracle_.records.size()) return;
  const std::set<std::uint32_t> late = left_out_of(record.shards);
  if (late == left_out_of(oracle_.records[index].shards)) return;
  if (view < views_.latest()->number) {
    branched_off_.insert(process);
    return seen(process).replica.strays();
  }
  const View& of = made->second;
  std::set<std::uint32_t> decided;
  for (const ShardRange& range : of.dropping.shards) {
    for (std::uint32_t shard = range.begin; shard < range.end; ++shard) decided.insert(shard);
  }
  if (index != of.records || of.dropping.record != index + 1) decided.clear();
  if (late != decided) return;  // the rule says what is wrong
  for (auto& [other, who] : seen_) {
    if (other == process || who.name.loader || who.replica.least() <= index) continue;
    const bool member = std::any_of(of.replicas.begin(), of.replicas.end(), [&, &who = who](const Member& m) {
      return m.name == who.name && m.incarnation == who.incarnation;
    });
    if (member && cluster_->world().alive(other)) return;
    branched_off_.insert(other);
    who.replica.strays();
  }
  left_out_.erase(left_out_.lower_bound(index + 1), left_out_.end());
  if (!late.empty()) left_out_[index + 1] = late;
  oracle_ = retrain_(left_out_);
  record_hashes_.erase(record_hashes_.lower_bound(index), record_hashes_.end());
  tally_.count("straggler: a step goes on without it");
}

// Whether this one was given a part of a state, and never the rest, when it is to observe again.
void Invariants::observes(ProcessId process) {
  Seen& who = seen(process);
  tally_.count("join: a newcomer observes");
  if (std::exchange(who.observes, true)) tally_.count("join: a newcomer begins again");
  if (std::exchange(who.half_a_state, false)) tally_.count("join: a state breaks off half way");
  tainted_.erase(process);
  who.replica.observes();
  if (bits_lost_) who.replica.strays();
}

void Invariants::transferred(ProcessId process) {
  seen(process).half_a_state = false;
  seen(process).replica.transferred();
  tally_.count("view: a record is transferred");
}

// ---- frames

std::uint64_t Invariants::incarnation_of(std::uint32_t view, PeerId peer) const {
  const auto found = views_.views().find(view);
  if (found == views_.views().end()) return 0;
  const bool loader = peer >= kLoaderPeers;
  const NodeName name{loader, loader ? peer - kLoaderPeers : peer};
  for (const Member& member : loader ? found->second.loaders : found->second.replicas) {
    if (member.name == name) return member.incarnation;
  }
  return 0;
}

void Invariants::placed(ProcessId process, const Frame& frame, std::span<std::byte> place) {
  FrameRule& frames = seen(process).frames;
  if (frame.view < frames.view()) tally_.count("frame: of an old view");
  if (frame.view > frames.view()) tally_.count("frame: of a view not yet entered");
  if (frame.kind == FrameKind::state && frame.bytes < PieceBody::from(frame).whole_bytes && !place.empty()) {
    seen(process).half_a_state = true;
    tally_.count("join: a state comes in pieces");
  }
  say(process, frames.placed(frame, place, incarnation_of(frame.view, frame.from)));
}

void Invariants::taken(ProcessId process, const Frame&, std::span<std::byte> payload) {
  if (!payload.empty()) seen(process).frames.ended(payload);
}

void Invariants::dropped(ProcessId process, const Frame& frame) {
  tally_.count("frame: broken off half way");
  seen(process).frames.dropped(frame);
}

void Invariants::sending(ProcessId process, const Frame& frame, std::span<const std::byte> payload,
                         std::uint64_t number) {
  say(process, seen(process).frames.sending(frame, payload, number));
}

void Invariants::send_ended(ProcessId process, std::uint64_t number, bool ok) {
  if (!ok) tally_.count("frame: a send fails");
  say(process, seen(process).frames.sent(number));
}

void Invariants::view_entered(ProcessId process, std::uint32_t view) {
  seen(process).frames.entered(view);
}

void Invariants::view_closed(ProcessId process, std::uint32_t view) {
  say(process, seen(process).frames.closed(view));
}

// ---- views

void Invariants::sent(ProcessId from, ProcessId to, const caf::message& message) {
  if (cluster_->usurped(from)) return said_by_usurped(message);
  if (as<Close>(message) && !is_member(to) && !seen(to).name.loader) given_the_state_.insert(to);
  if (const auto* install = as<Install>(message)) {
    const View* latest = views_.latest();
    const bool is_new = !latest || install->view.number != latest->number;
    const bool again = is_given_again(install->view);
    if (again) views_.forget_from(install->view.number);
    if (is_new || again) made(install->view);
  } else if (as<Welcome>(message)) {
    node_came_at_ = now();
  } else if (const auto* observe = as<Observe>(message)) {
    seen(to).fed_in = observe->view.number;
  } else if (const auto* stop = as<Stop>(message)) {
    seen(to).fed_in = 0;
    if (stop->again) given_the_state_.erase(to);  // it misses too many steps, say
    expect_unheard_are_left_alone(to, *stop);
    if (in_force_ && commits_ > commits_before_) expect_newcomers_fed();
  } else if (const auto* pulse = as<Pulse>(message)) {
    expect_counts_on_no_abandoned(*pulse);
  } else if (const auto* close = as<Close>(message)) {
    if (in_force_ && commits_ > commits_before_) expect_newcomers_fed();
    if (closing_ != close->view || in_force_) progress_at_ = now();
    closing_ = close->view;
    in_force_ = adopting_ = false;
  } else if (const auto* closed = as<Closed>(message)) {
    // Asked twice, it may say so of an older view again.
    if (!closed->name.loader && closed->view >= seen(from).installed) {
      const Wrong wrong = seen(from).replica.promised(closed->view, closed->records);
      if (!to_go_back_.contains(from)) say(from, wrong);  // else it holds what it held before
    }
  } else if (const auto* installed = as<Installed>(message)) {
    say(from, seen(from).frames.installed(installed->view));
  } else if (const auto* caught_up = as<CaughtUp>(message)) {
    // It has not heard yet that it is to begin again, or has entered the next view meanwhile.
    if (caught_up->view < std::max(seen(from).observed, seen(from).installed)) return;
    say(from, seen(from).replica.caught_up(caught_up->records));
    tally_.count("join: a newcomer has caught up");
  } else if (const auto* failing = as<Failing>(message)) {
    if (failing->peer_known) return;
    failed_at_.failed(failing->name, failing->at);
    if (failing->reason.find("cannot go back") != std::string::npos)
      say({11, failing->name.text() + " fails by itself, where all are asked whether they can go back"});
    if (fails_by_a_fault(failing->reason)) excused_.insert(failing->name.text());
  } else if (const auto* begin = as<Begin>(message)) {
    in_force_ = true;
    begun_ = begin->view;
    commits_before_ = commits_;
  }
}

// Of a coordinator that another one has taken the place of.
void Invariants::said_by_usurped(const caf::message& message) {
  const auto* install = as<Install>(message);
  const View* latest = views_.latest();
  if (install && cluster_->has_been_taken_over() && (!latest || install->view.number > latest->number)) {
    say({6, "a coordinator made view " + std::to_string(install->view.number) +
                ", although another one had taken its journal over"});
  }
}

void Invariants::delivered(ProcessId from, ProcessId to, const caf::message& message) {
  if (as<Adopt>(message) && adopting_ && back_.insert(from).second)
    progress_at_ = now();  // others may follow
  if (const auto* heartbeat = as<Heartbeat>(message)) {
    heard_at_[from] = now();
    const Work work = work_of(*heartbeat);
    if (work.call.is_of_model()) computes_at_[place_of(work.call)].insert(heartbeat->name.text());
  }
  if (const auto asked = asked_to_go_.find(to); asked != asked_to_go_.end()) asked->second = now();
  if (const auto* begin = as<Begin>(message)) {
    seen(to).replica.begun(begin->view);
  } else if (const auto* install = as<Install>(message)) {
    const bool was_given_anew = seen(to).observed > std::exchange(seen(to).installed, install->view.number);
    if (was_given_anew && !views_.goes_back(install->view)) to_go_back_.erase(to);
    if (views_.goes_back(install->view) && !seen(to).name.loader) {
      tainted_.erase(to);
      fed_by_.erase(seen(to).name.text());
      given_wrong_.erase(seen(to).name.text());
      seen(to).replica.goes_back(install->view.records);
      if (bits_lost_) seen(to).replica.strays();
    }
  } else if (const auto* observe = as<Observe>(message)) {
    observes(to);
    seen(to).observed = observe->view.number;
  } else if (const auto* kept = as<Checkpointed>(message)) {
    if (counts_to_ && kept->view >= back_view_) counts_to_ = std::max(*counts_to_, kept->step);
    told_of(to, *kept);
  } else if (const auto* closed = as<Closed>(message)) {
    kept_from_[closed->name.text()] = closed->kept_from;
    forget_who_misses_too_much();
  } else if (const auto* donate = as<Donate>(message)) {
    if (donate->gives) fed_by_[donate->observer.name.text()].insert(seen(to).name.text());
  } else if (const auto* failing = as<Failing>(message); failing && !failing->peer_known) {
    replicas_at_error_ = members_left("replica");
    loaders_at_error_ = members_left("loader");
  } else if (const auto* leaving = as<Leaving>(message)) {
    leaving_.insert(leaving->name.text());
    asked_to_leave_at_ = now();
  } else if (const auto* welcome = as<Welcome>(message)) {
    welcomed_[welcome->name.text()] = now();
  } else if (const auto* stop = as<Stop>(message)) {
    if (stop->keep) orphans_.insert(to);
    told_to_end_.insert(to);
    if (!stop->good && lost_.count(cluster_->world().name(to)) > 0)
      tally_.count("zombie: is told that it was evicted");
  }
}

// A coordinator that finds an older journal knows nothing of later views if all of their replicas are gone:
// it gives their numbers once more.
bool Invariants::is_given_again(const View& view) const {
  const View* latest = views_.latest();
  if (tally_.of("fault: coordinator-old-journal") == 0 || !latest || view.number > latest->number ||
      view.term <= latest->term)
    return false;
  const auto lives = [this](const Member& member) {
    return std::ranges::any_of(seen_, [&](const auto& each) {
      return each.second.name == member.name && each.second.incarnation == member.incarnation &&
             cluster_->world().alive(each.first);
    });
  };
  const auto& views = views_.views();
  return std::none_of(views.lower_bound(view.number), views.end(),
                      [&](const auto& later) { return std::ranges::any_of(later.second.replicas, lives); });
}

void Invariants::made(const View& view) {
  given_the_state_.clear();
  kept_from_.clear();
  links_lost_.clear();
  found_again(view);
  for (const Member& member : view.replicas) {
    if (!over_ && cluster_->unlike(member.name.text())) expect_alike(view, member.name.text());
  }
  if (const View* before = views_.latest()) {
    for (const Behind& one : before->behind)
      gave(NodeName{false, before->donor}.text(), NodeName{false, one.slot}.text());
  }
  std::map<std::uint32_t, ViewRule::Holds> holds;
  constexpr ViewRule::Holds kAny{0, std::numeric_limits<std::uint64_t>::max()};
  for (const auto& [process, who] : seen_) {
    if (who.named && !who.name.loader && cluster_->world().alive(process))
      holds[who.name.slot] = bits_lost_ ? kAny : ViewRule::Holds{who.replica.least(), who.replica.most()};
  }
  // Who died meanwhile cannot be asked any more; what it reported stands.
  for (const Member& member : view.replicas) {
    if (holds.count(member.name.slot) > 0) continue;
    const std::uint64_t said = said_to_hold(view, member.name.slot);
    holds[member.name.slot] = {said, said};
  }
  if (const View* before = views_.latest()) {
    tally_.count("view: a change");
    if (begun_ < before->number) tally_.count("view: never in force");
    for (const auto& [process, who] : seen_) {
      if (!who.name.loader && who.replica.least() > view.records)
        tally_.count("view: a step is done again that a lost replica held");
    }
  }
  count_view(view);
  if (view.number > 1 && views_.goes_back(view)) began_attempt(view);
  newest_at_verdict_.reset();
  say(views_.made(view, holds));
  if (!view.back && !bits_lost_ && all_tainted()) lose_bits();  // whoever could tell is lost
  closing_ = 0;
  in_force_ = false;
  progress_at_ = now();
}

void Invariants::count_view(const View& view) {
  if (!view.behind.empty()) tally_.count("view: a member is behind");
  if (!view.behind.empty() && view.sums_on_gpus) tally_.count("sums: on GPUs, and one is behind");
  if (view.number > 3) tally_.count("view: the fourth or later");
  if (view.records < oracle_.records.size() && view.number > 1) {
    const OracleRecord& next = oracle_.records[view.records];
    if (next.kind == RoundKind::evaluate) tally_.count("view: begins with an evaluation");
    if (next.kind == RoundKind::train && !next.is_step) tally_.count("view: begins with the end of an epoch");
    if (view.records == 0) tally_.count("view: begins with the first step again");
  }
  if (job_.cluster.loaders > 0 && view.loaders.empty() && !view.last)
    tally_.count("view: replicas load for themselves");
  if (view.records == oracle_.records.size()) tally_.count("view: begins after the last record");
  if (job_.train.in_parts() && view.number > 1) count_parts(view);
  if (view.number > 1 && view.replicas.size() == 1) tally_.count("view: of one replica");
}

// Of a sharded optimizer, or of the states of shards.
void Invariants::count_parts(const View& view) {
  const std::string of = job_.train.shard_optimizer ? "parts: " : "states: ";
  if (views_.goes_back(view)) {
    return tally_.count(of +
                        (view.source.checkpoint.empty() ? "back to the beginning" : "back to a checkpoint"));
  }
  tally_.count(of + "dealt anew");
  if (!view.behind.empty()) tally_.count(of + "a record is transferred");
  if (view.source.view + 1 < view.number) tally_.count(of + "those of the view before the last");
  const auto holds = [&](std::uint32_t slot) { return view.holds({false, slot}); };
  for (const PartHolder& holder : view.source.holders) {
    if (!holds(holder.owner)) tally_.count(of + "given by a buddy");
  }
  for (const Member& member : view.replicas) {
    const auto& before = view.source.holders;
    if (leaving_.count(member.name.text()) > 0) tally_.count(of + "one that wants to leave is held back");
    if (std::none_of(before.begin(), before.end(),
                     [&](const PartHolder& holder) { return holder.owner == member.name.slot; }))
      tally_.count(of + "a newcomer is given some");
  }
}

// ---- events

void Invariants::event(const Event& event) {
  tally_.count("event: " + event.name);
  if (event.name == "lost") lost(event);
  if (event.name == "corrupt") corrupt(event);
  if (event.name == "went_back" && !newest_at_verdict_) newest_at_verdict_ = newest_durable().value_or(0);
  if (event.name == "late" && event.has("loader")) tally_.count("late: a loader");
  if (event.name == "joined") joined(node_of(event));
  if (event.name == "refused" &&
      event.text("reason").find("begins with other weights") != std::string::npos && event.has("replica") &&
      !cluster_->unlike(node_of(event)) && any_to_compare_with())
    say({7, node_of(event) + " was refused, because it is not like one that does not fit"});
  if (event.name == "notice") suspects_noted(event.text("text"));
  if (event.name == "refused" &&
      event.text("reason").ends_with("is no member of the last view; it may join again"))
    turned_away(node_of(event));
  if (event.name == "checkpoint") checked_.insert(static_cast<std::uint64_t>(event.integer("step")));
  if (event.name == "state_kept") expect_keeps_all(event);
  if (event.name == "state_not_kept") keeps_nothing();
  if (event.name == "failed") expect_no_denial(event.text("reason"));
  if (event.name == "left") left_.insert(node_of(event));
  if (event.name == "state_transferred") {
    const NodeName to{false, static_cast<std::uint32_t>(event.integer("to"))};
    gave(node_of(event), to.text());
  }
  if (event.name == "paused" && event.text("waits_for").starts_with("message from"))
    unheard_ = true;
  else if (event.name == "paused" && !std::exchange(paused_, true))
    paused_at_ = now();
  if (event.name == "view" && std::exchange(paused_, false)) tally_.count("view: after a pause");
  const bool given_up = event.name == "lost" && event.text("reason").rfind("silent", 0) == 0;
  if (event.name == "heard_again" || given_up || event.name == "restarted") unheard_ = false;
  if (event.name == "restarted") restarted();
  if (event.name == "interrupted" || event.name == "failed") ends_ = true;
  if (event.name == "restarted" || event.name == "started") ends_ = false;
  if (event.name == "interrupted" && !told_to_end_at_) told_to_end_at_ = now();
  if (event.name == "restarted") told_to_end_at_.reset();
  if (event.name == "view") adopting_ = false;
  if (event.name == "paused" || event.name == "heard_again" || event.name == "restarted" ||
      event.name == "started")
    progress_at_ = now();
}

void Invariants::mistake(const std::string& what) {
  say({5, what});
}

}  // namespace muster::simulation
