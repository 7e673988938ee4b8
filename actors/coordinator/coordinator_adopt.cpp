// A coordinator that was started anew, or that a member has reached again: what the journal says, what the
// members hold, and which of the two counts. Steps that live replicas hold always count more than a verdict
// in a journal.
#include <algorithm>

#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "actors/rules/watch/return_time.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

// What a node says of a view may be anything.
bool makes_sense(const View& view, const NodeName& member, std::uint32_t shards) {
  std::uint32_t next = 0;
  for (const Member& replica : view.replicas) {
    if (replica.name.loader || replica.begin != next || replica.end < next) return false;
    next = replica.end;
  }
  const bool loaders = std::ranges::all_of(view.loaders, [](const Member& each) { return each.name.loader; });
  return loaders && next == shards && view.holds(member);
}

}  // namespace

// ---- the journal

void CoordinatorState::note(const View& view, bool ended) {
  if (!setup_.journal || (canary("no-journal") && view.number > 0)) return;
  const bool goes_back = view.back && view.number != view_.number;
  try {
    if (term_.is_new()) refuse_equal();
    setup_.journal->write({setup_.job_hash, term_.number(), view.number == 0 ? beginning() : view,
                           membership_->admission().free_numbers(), ended, report_.completed(), report_.steps,
                           report_.samples, report_.weights_sha256,
                           report_.completed() ? epochs_.counted() : std::vector<EpochEnd>{}, first_view_,
                           goes_back ? 0 : suspects_.from(), suspects_.doubt_from(), term_.writer()});
    term_.noted();
    pending_.noted();
  } catch (const TakenOver& error) {
    taken_over(error.what());
    throw;
  }
}

// Two that were started with the same journal have the same term, until one of them writes.
void CoordinatorState::refuse_equal() const {
  std::optional<JournalEntry> there;
  try {
    there = setup_.journal->read();
  } catch (const DamagedJournal&) {
    return;  // the write replaces it
  }
  if (there && term_.is_beaten_by(there->term, there->writer))
    throw TakenOver("another coordinator has taken this run over (term " + std::to_string(there->term) +
                    " in its journal)");
}

// Another coordinator has begun with this journal: nodes are told nothing, for they are its members now.
void CoordinatorState::taken_over(const std::string& reason) {
  term_.take_over();
  setup_.journal.reset();
  if (end_.decided()) return;
  end_.decide(self_->clock().now());
  actors_.clear();
  report_.outcome = "failed";
  report_.reason = reason;
  raise(make_event("failed", {{"reason", reason}}));
  finish();
}

// Throws Error: then nothing was begun.
void CoordinatorState::look_into_journal() {
  if (!setup_.journal) return;
  const auto entry = setup_.journal->read();
  if (entry) term_.follow(entry->term);
  if (entry && !entry->ended && !setup_.resume)
    gathering_.wait_for_unknown_members(kReturnMax + setup_.job.cluster.detect.patience);
  if (entry && !entry->ended && entry->view.number == 0) {  // nodes may live that were given numbers
    membership_ = std::make_unique<Membership>(setup_.job, entry->free);
    first_view_ = entry->first_view;
    if (entry->job_hash == setup_.job_hash) gathering_.place_is_free();  // some were here, and may be gone
    if (gathering_.waits_for_unknown_members())
      raise(make_event("notice",
                       {{"text", "a coordinator of this run was here before: its nodes are waited for, " +
                                     std::to_string(gathering_.left().count()) + " ms"}}));
  }
  if (entry && !entry->ended && entry->view.number > 0 && setup_.resume)
    raise(
        make_event("notice", {{"text", "--resume: the run goes back to a checkpoint; the replicas of view " +
                                           std::to_string(entry->view.number) +
                                           ", which may live and be further, are not waited for. Without "
                                           "--resume they would be"}}));
  if (entry && !entry->ended && !entry->completed && entry->job_hash == setup_.job_hash)
    expect_resume(entry->view);
  // A run that goes on from a checkpoint has no members to wait for.
  if (!entry || entry->ended || entry->view.number == 0 || setup_.resume)
    return note_beginning(entry && !entry->ended);
  if (entry->job_hash != setup_.job_hash) {
    throw Error(
        "the journal is of another job (its mathematics differ); give this one another "
        "checkpoint.folder, or move the journal away");
  }
  if (entry->completed) return report_completed(*entry);
  first_view_ = std::max(entry->first_view, 1u);
  if (entry->doubt_from > 0) {
    std::vector<std::uint32_t> slots;
    for (const Member& member : entry->view.replicas) slots.push_back(member.name.slot);
    suspects_.doubt(entry->doubt_from, std::move(slots));
  }
  wait_for_members(entry->view, entry->free);
  if (entry->suspect_from > 0) {  // else the folder may say so
    suspects_.suspected_before(entry->suspect_from);
    verdicts_.give_up();
  }
  keep_no_suspect();
  term_.journal_lacks_it();
  note_what_it_lacks();
}

// In the journal before the first view: from which checkpoint the run goes on.
View CoordinatorState::beginning() const {
  View view;
  if (setup_.resume) view.source.checkpoint = setup_.resume->manifest;
  return view;
}

// A coordinator died before the first view of a run that was to go on from a checkpoint. Without --resume the
// run would now begin at its first step.
void CoordinatorState::expect_resume(const View& view) const {
  if (setup_.resume || view.number > 0 || view.source.checkpoint.empty()) return;
  throw Error(why_resume(view));
}

std::string CoordinatorState::why_resume(const View& view) {
  return "the run was to go on from " + view.source.checkpoint +
         ", and its coordinator ended before the first view: start it with --resume, or move the journal "
         "away "
         "to begin the run anew";
}

// Where nodes may live that were given numbers a full disk is waited for. Else the user sees that nothing was
// begun.
void CoordinatorState::note_beginning(bool nodes_may_live) {
  try {
    note(View{});
  } catch (const Error& error) {
    if (!nodes_may_live || term_.taken_over()) throw;
    journal_refused(View{}, error.what());
    gathering_.try_to_begin_anew(true);
  }
}

// The members of that view look for this coordinator.
void CoordinatorState::wait_for_members(const View& view, const FreeNumbers& free) {
  view_ = view;
  if (view.history > 0) verdicts_.begin(view.history);
  checkpoints_->know_of_one();
  checkpoints_->look();
  remember_verdicts();
  remember_going_back();
  checkpoints_->go_on_from(view_.source, view_.history);
  keep_no_suspect();
  report_.steps = std::max(report_.steps, checkpoints_->last().step);
  watch_->entered(view_);
  watch_->begun();
  going_back_.entered();
  begun_ = true;
  training_.restarted();
  phase_ = CoordinatorPhase::adopting;
  membership_->entered_before(view_, free);
  training_.begin(self_->clock().now());
  raise(make_event("restarted", {{"term", number(term_.number())},
                                 {"view", number(view_.number)},
                                 {"members", number(view_.replicas.size())}}));
}

// The one before was gone before all knew of the end: they are told when they come back, for a while.
void CoordinatorState::report_completed(const JournalEntry& entry) {
  view_ = entry.view;
  watch_->entered(view_);
  begun_ = true;
  report_.steps = entry.steps;
  report_.samples = entry.samples;
  report_.weights_sha256 = entry.weights_sha256;
  epochs_.start_with(entry.epochs);
  report_.outcome = "completed";
  end_.decide(self_->clock().now());
}

// ---- the members

void CoordinatorState::on(const Adopt& message) {
  const auto actor = caf::actor_cast<node_actor>(self_->current_sender());
  const NodeName& who = message.join.name;
  const auto refuse_it = [&](const std::string& reason, bool again) {
    raise(make_event("refused", {{kind(who), number(who.slot)}, {"reason", reason}}));
    // What it holds beyond this run is kept for --resume.
    const std::uint32_t number = message.view.number;
    const bool beyond = number > view_.number || (number == view_.number && !view_.holds(who));
    self_->send(actor, Stop{false, reason, again, message.begun && beyond});
  };
  if (!actor) return refuse_it("it has no address to answer to", false);
  if (term_.taken_over()) return;                         // it is another coordinator's
  if (end_.decided() && end_.gives_up_silence()) return;  // it waits for the next one, as the user was told
  if (end_.decided()) {
    const Stop stop{report_.completed(), "the run has ended", false, true, suspects_.from()};
    return self_->send(actor, stop);
  }
  if (message.job_hash != setup_.job_hash) return refuse_it("it trains another job (other job hash)", false);
  membership_->admission().given(message.free);
  if (membership_->nodes().lives(who, message.join.incarnation)) return returned(message, actor);
  // It was never told of the view that holds it. If that is the first one nobody was: nothing was begun.
  const bool unknown_view = phase_ == CoordinatorPhase::adopting && !who.loader && message.view.number == 0 &&
                            membership_->returns().expects(who, message.join.incarnation);
  if (unknown_view && view_.number > first_view_)
    return refuse_it("it was not told of view " + std::to_string(view_.number) + "; it may join again", true);
  if (unknown_view) {
    try_to_begin_anew();
    timers_.restart(PhaseTimers::Wait::returns);  // it is back
    if (gathering_.tries_to_begin_anew() || term_.taken_over()) return;
  } else if (!learn_from(message)) {
    return;
  }
  const std::string refusal = membership_->returns().adopt(message);
  if (!refusal.empty() && phase_ == CoordinatorPhase::forming) some_were_here();
  if (!refusal.empty()) return refuse_it(refusal, true);
  actors_[who] = actor;
  timers_.restart(PhaseTimers::Wait::returns);
  watch_->came(who, elapsed());
  self_->monitor(actor);
  if (report_.transport.empty()) report_.transport = message.prepared.transport;
  if (phase_ == CoordinatorPhase::adopting && membership_->all(NodeStage::installed)) adopted_all();
}

// The first view was in the journal and never sent to this member: nothing was begun. All join anew. False,
// here and below: the disk of the journal takes nothing now, and the member asks again.
bool CoordinatorState::begin_anew() {
  if (!setup_.resume && view_.records > 0) return fail(why_resume(view_)), false;
  if (pending_.is_over() || pending_.refused_until_later(self_->clock().now())) return false;
  auto membership = std::make_unique<Membership>(setup_.job, membership_->admission().free_numbers());
  std::swap(membership, membership_);  // the numbers of its places go into the journal
  const std::uint32_t first_before = std::exchange(first_view_, std::max(first_view_, view_.number + 1));
  try {
    note(View{});
  } catch (const Error& error) {
    std::swap(membership, membership_);
    first_view_ = first_before;
    if (!term_.taken_over()) journal_refused(View{}, error.what());
    return false;
  }
  for (const auto& [who, actor] : actors_) {
    if (membership->alive(who)) self_->send(actor, Stop{false, "the run begins anew", true});
  }
  actors_.clear();
  away_.clear();
  lost_.clear();
  watch_ = std::make_unique<ClusterWatch>(setup_.job.cluster, kTick);
  reach_ = {};
  view_ = View{};
  pending_.drop();
  begun_ = false;
  phase_ = CoordinatorPhase::forming;
  gathering_.place_is_free();
  if (!gathering_.waits_for_unknown_members()) admit_callers();
  return true;
}

// They joined the coordinator before this one. Who was there with them may be gone.
void CoordinatorState::some_were_here() {
  if (gathering_.has_free_place() || !setup_.by_hand) return;
  gathering_.place_is_free();
  raise(make_event("notice",
                   {{"text",
                     "nodes that were here before this coordinator was started again are back; others are "
                     "waited for " +
                         std::to_string(setup_.job.cluster.start_patience.count()) +
                         " ms (cluster.start_patience); then the run begins without them, if "
                         "cluster.min_replicas are there"}}));
}

void CoordinatorState::try_to_begin_anew() {
  const bool done = begin_anew() || term_.taken_over();
  gathering_.try_to_begin_anew(!done);
}

// The journal may be older than what members hold: it was restored from a copy.
bool CoordinatorState::learn_from(const Adopt& message) {
  const bool forming = unknown_members_may_come();
  if ((phase_ != CoordinatorPhase::adopting && !forming) || canary("journal-knows-best")) return true;
  const std::uint32_t known = forming ? first_view_ - 1 : view_.number;
  const bool newer =
      message.view.number > known && makes_sense(message.view, message.join.name, setup_.job.train.shards);
  const bool expected =
      !forming && membership_->returns().expects(message.join.name, message.join.incarnation);
  if (!newer && !expected) return true;
  term_.rise_above(message.term);
  if (newer) {
    go_on_with(message.view);
    term_.journal_lacks_it();
  }
  return note_what_it_lacks();
}

// Who is in no newer view joins again.
void CoordinatorState::go_on_with(const View& view) {
  std::vector<NodeName> stay;
  for (const auto& [who, actor] : actors_) {
    if (!membership_->alive(who)) continue;
    if (membership_->member(who) && view.holds(who)) {
      stay.push_back(who);
    } else {
      self_->send(actor, Stop{false, "replicas of this run have come back, and it goes on with them", true});
    }
  }
  std::erase_if(actors_, [&](const auto& each) {
    return std::find(stay.begin(), stay.end(), each.first) == stay.end();
  });
  lost_.clear();
  gathering_.none_is_free();
  raise(
      make_event("notice", {{"text", "replicas of this run live, and hold more than its journal says (view " +
                                         std::to_string(view_.number) + "): it goes on with their view " +
                                         std::to_string(view.number)}}));
  gathering_.try_to_begin_anew(false);
  suspects_.forget();  // what the journal said of is an older view
  checkpoints_->forget_reports();
  verdicts_.goes_on();
  wait_for_members(view, membership_->admission().free_numbers());
}

// A member whose connection broke, and that has reached this coordinator again. What was on its way may be
// lost; a new view tells all of it again.
void CoordinatorState::returned(const Adopt& message, const node_actor& actor) {
  const NodeName& who = message.join.name;
  watch_->came(who, elapsed());
  // It asks until it hears something: over the same connection that says nothing new.
  if (away_.erase(who) == 0 && actors_.at(who).address() == actor.address()) {
    if (phase_ != CoordinatorPhase::adopting) self_->send(actor, Adopted{term_.number()});
    return;
  }
  actors_[who] = actor;
  self_->monitor(actor);
  reach_.came_back(who);
  if (!begun_ && (phase_ == CoordinatorPhase::forming || phase_ == CoordinatorPhase::noting))
    return returned_early(message, actor);
  if (!membership_->member(who)) return turn_away(who, "its connection to the coordinator broke", true);
  const bool up_to_date = message.begun && message.view.number == view_.number;
  membership_->returns().reconnected(message);
  if (message.view.number != view_.number) watch_->missed_view(who);
  if (phase_ == CoordinatorPhase::adopting) return;
  self_->send(actor, Adopted{term_.number()});
  const std::vector<NodeName> fed = membership_->transfers().newcomers_of(who, message.view.number);
  for (const NodeName& newcomer :
       membership_->transfers().no_longer_of(who))  // it may have missed that it does not any more
    self_->send(actor, Donate{message.view.number, membership_->member_of(newcomer), false, true});
  // A newcomer connected to it. Both do, or the next connection of the one is paired with this of the other.
  // What it was asked for since then was lost: in a pause they are fed anew.
  for (const NodeName& newcomer : fed) {
    self_->send(actor, Donate{message.view.number, membership_->member_of(newcomer), false, false});
    if (!membership_->member(newcomer)) membership_->transfers().to_begin_again(newcomer);
  }
  if (phase_ == CoordinatorPhase::closing) {
    self_->send(actor, Close{term_.number(), message.view.number, lost_});
  } else if (phase_ == CoordinatorPhase::installing || (phase_ == CoordinatorPhase::running && !up_to_date) ||
             !fed.empty()) {
    close_view();
  }
}

// Nobody was told of a view yet: all that it can have missed is that it was heard.
void CoordinatorState::returned_early(const Adopt& message, const node_actor& actor) {
  const NodeName& who = message.join.name;
  self_->send(actor, Adopted{term_.number()});
  if (membership_->at(who).stage != NodeStage::joined || message.prepared.address.empty()) return;
  Prepared prepared = message.prepared;
  prepared.name = who;
  on(prepared);
}

// All members that are left have come back. Newcomers can be compared with them now.
void CoordinatorState::adopted_all() {
  report_.ledger_unit = view_.facts.unit_is_batch ? "batch" : "sample";
  for (const auto& [who, actor] : actors_) {
    if (!membership_->member(who)) continue;
    const NodeRecord& record = membership_->at(who);
    if (membership_->alive(who))
      raise(make_event(
          "returned",
          {{kind(who), number(who.slot)}, {"pid", record.process.pid}, {"device", record.process.device}}));
    self_->send(actor, Adopted{term_.number()});
  }
  const bool any_leaves = std::ranges::any_of(membership_->nodes(), [this](const auto& node) {
    return node.second.leaving && membership_->member(node.first);
  });
  if (lost_.empty() && all_have_begun(membership_->nodes(), view_.number) && !end_.keeps_state() &&
      !view_.last && !suspects_.compared_next() && !suspects_.any() && !any_leaves) {
    phase_ = CoordinatorPhase::running;
    took_effect_ = false;
    announce_view();
    feed_newcomers();
  } else {
    close_view();
  }
  admit_callers();
}

// Where no member is back they may still look for this coordinator; where one is, the others follow soon.
// Counted in ticks: time in which this coordinator did not run is nobody's silence.
bool CoordinatorState::judge_returns() {
  const auto missing = membership_->returns().missing();
  if (missing.empty() || term_.journal_is_behind()) return false;
  const auto& cluster = setup_.job.cluster;
  auto wait = wait_for_returns(membership_->returns().any_replica_is_back(), cluster.detect.patience,
                               cluster.orphan_after);
  if (canary("returns-have-little-time")) wait = std::chrono::seconds(5);
  if (!timers_.is_over(PhaseTimers::Wait::returns, wait)) return false;
  for (const NodeName& who : missing) {
    if (phase_ != CoordinatorPhase::adopting || end_.decided()) break;
    lost(who, "coordinator",
         "it has not come back to the restarted coordinator within " + std::to_string(wait.count()) + " ms");
  }
  return true;
}

void CoordinatorState::none_came_back() {
  const bool can_resume = checkpoints_->last_before(kAllSteps).has_value();
  const bool cannot_tell = !checkpoints_->can_be_listed() || checkpoints_->is_away();
  const auto& cluster = setup_.job.cluster;
  const auto wait = wait_for_returns(false, cluster.detect.patience, cluster.orphan_after);
  fail("no member of the last view has come back and stayed; the first is waited for " +
       std::to_string(wait.count()) + " ms (cluster.orphan_after, and the time until members know); " +
       (can_resume    ? "go on from a checkpoint with --resume"
        : cannot_tell ? "checkpoint.folder cannot be read now: make it readable, and look with --resume for "
                        "a checkpoint to go on from"
                      : "no checkpoint is here: to begin again, move the journal away"));
}

}  // namespace muster
