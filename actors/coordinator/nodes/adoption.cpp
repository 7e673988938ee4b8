#include "actors/coordinator/nodes/adoption.hpp"

#include <algorithm>
#include <utility>

#include "actors/coordinator/facts/coordinator_texts.hpp"
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

// What was told before the checkpoint is part of this run's report.
void Adoption::report_resumed() {
  const Resume& resume = *run_.setup.resume;
  std::string passed_over;
  for (const PassedOver& one : resume.passed_over)
    passed_over += (passed_over.empty() ? "" : "; ") + one.manifest + ": " + one.why;
  port_.raise(make_event("resumed", {{"step", number(resume.step)},
                                     {"epoch", number(resume.epoch)},
                                     {"path", resume.path},
                                     {"passed_over", passed_over}}));
  run_.epochs.start_with(resume.epochs);
  run_.report.steps = resume.step;
  run_.report.samples = resume.samples;
  checkpoints_.known->go_on_from(
      {resume.manifest, resume.records, resume.step, resume.path, {}, 0, resume.weights_sha256});
  checkpoints_.known->know_of_one();
}

void Adoption::look_into_journal() {
  if (!run_.setup.journal) return;
  const auto entry = run_.setup.journal->read();
  if (entry) run_.term.follow(entry->term);
  if (entry && !entry->ended && !run_.setup.resume)
    run_.gathering.wait_for_unknown_members(kReturnMax + run_.setup.job.cluster.detect.patience);
  if (entry && !entry->ended && entry->view.number == 0) {  // nodes may live that were given numbers
    run_.membership = std::make_unique<Membership>(run_.setup.job, entry->free);
    run_.first_view = entry->first_view;
    if (entry->job_hash == run_.setup.job_hash)
      run_.gathering.place_is_free();  // some were here, and may be gone
    if (run_.gathering.waits_for_unknown_members())
      port_.raise(make_event(
          "notice", {{"text", "a coordinator of this run was here before: its nodes are waited for, " +
                                  std::to_string(run_.gathering.left().count()) + " ms"}}));
  }
  if (entry && !entry->ended && entry->view.number > 0 && run_.setup.resume)
    port_.raise(
        make_event("notice", {{"text", "--resume: the run goes back to a checkpoint; the replicas of view " +
                                           std::to_string(entry->view.number) +
                                           ", which may live and be further, are not waited for. Without "
                                           "--resume they would be"}}));
  if (entry && !entry->ended && !entry->completed && entry->job_hash == run_.setup.job_hash)
    expect_resume(entry->view);
  // A run that goes on from a checkpoint has no members to wait for.
  if (!entry || entry->ended || entry->view.number == 0 || run_.setup.resume)
    return note_beginning(entry && !entry->ended);
  if (entry->job_hash != run_.setup.job_hash) {
    throw Error(
        "the journal is of another job (its mathematics differ); give this one another "
        "checkpoint.folder, or move the journal away");
  }
  if (entry->completed) return report_completed(*entry);
  run_.first_view = std::max(entry->first_view, 1u);
  if (entry->doubt_from > 0) {
    std::vector<std::uint32_t> slots;
    for (const Member& member : entry->view.replicas) slots.push_back(member.name.slot);
    checkpoints_.suspects.doubt(entry->doubt_from, std::move(slots));
  }
  wait_for_members(entry->view, entry->free);
  if (entry->suspect_from > 0) {  // else the folder may say so
    checkpoints_.suspects.suspected_before(entry->suspect_from);
    checkpoints_.verdicts.give_up();
  }
  suspect_checkpoints_.keep_no_suspect();
  run_.term.journal_lacks_it();
  journal_.note_what_it_lacks();
}

// A coordinator died before the first view of a run that was to go on from a checkpoint. Without --resume the
// run would now begin at its first step.
void Adoption::expect_resume(const View& view) const {
  if (run_.setup.resume || view.number > 0 || view.source.checkpoint.empty()) return;
  throw Error(why_resume(view));
}

// Where nodes may live that were given numbers a full disk is waited for. Else the user sees that nothing was
// begun.
void Adoption::note_beginning(bool nodes_may_live) {
  try {
    journal_.note(View{});
  } catch (const Error& error) {
    if (!nodes_may_live || run_.term.taken_over()) throw;
    journal_.journal_refused(View{}, error.what());
    run_.gathering.try_to_begin_anew(true);
  }
}

// The members of that view look for this coordinator.
void Adoption::wait_for_members(const View& view, const FreeNumbers& free) {
  run_.view = view;
  if (view.history > 0) checkpoints_.verdicts.begin(view.history);
  checkpoints_.known->know_of_one();
  checkpoints_.known->look();
  suspect_checkpoints_.remember_verdicts();
  suspect_checkpoints_.remember_going_back();
  checkpoints_.known->go_on_from(run_.view.source, run_.view.history);
  suspect_checkpoints_.keep_no_suspect();
  run_.report.steps = std::max(run_.report.steps, checkpoints_.known->last().step);
  run_.watch->entered(run_.view);
  run_.watch->begun();
  rollback_.forget_answers();
  run_.begun = true;
  run_.training.restarted();
  run_.phase = CoordinatorPhase::adopting;
  run_.membership->entered_before(run_.view, free);
  run_.training.begin(port_.now());
  port_.raise(make_event("restarted", {{"term", number(run_.term.number())},
                                       {"view", number(run_.view.number)},
                                       {"members", number(run_.view.replicas.size())}}));
}

// The one before was gone before all knew of the end: they are told when they come back, for a while.
void Adoption::report_completed(const JournalEntry& entry) {
  run_.view = entry.view;
  run_.watch->entered(run_.view);
  run_.begun = true;
  run_.report.steps = entry.steps;
  run_.report.samples = entry.samples;
  run_.report.weights_sha256 = entry.weights_sha256;
  run_.epochs.start_with(entry.epochs);
  run_.report.outcome = "completed";
  run_.end.decide(port_.now());
}

void Adoption::on(const Adopt& message) {
  const auto actor = connections_.sender();
  const NodeName& who = message.join.name;
  const auto refuse_it = [&](const std::string& reason, bool again) {
    port_.raise(make_event("refused", {{kind(who), number(who.slot)}, {"reason", reason}}));
    // What it holds beyond this run is kept for --resume.
    const std::uint32_t number = message.view.number;
    const bool beyond = number > run_.view.number || (number == run_.view.number && !run_.view.holds(who));
    connections_.answer(actor, Stop{false, reason, again, message.begun && beyond});
  };
  if (!actor) return refuse_it("it has no address to answer to", false);
  if (run_.term.taken_over()) return;  // it is another coordinator's
  if (run_.end.decided() && run_.end.gives_up_silence())
    return;  // it waits for the next one, as the user was told
  if (run_.end.decided()) {
    const Stop stop{run_.report.completed(), "the run has ended", false, true, checkpoints_.suspects.from()};
    return connections_.answer(actor, stop);
  }
  if (message.job_hash != run_.setup.job_hash)
    return refuse_it("it trains another job (other job hash)", false);
  run_.membership->admission().given(message.free);
  if (run_.membership->nodes().lives(who, message.join.incarnation)) return returned(message, actor);
  // It was never told of the view that holds it. If that is the first one nobody was: nothing was begun.
  const bool unknown_view = run_.phase == CoordinatorPhase::adopting && !who.loader &&
                            message.view.number == 0 &&
                            run_.membership->returns().expects(who, message.join.incarnation);
  if (unknown_view && run_.view.number > run_.first_view)
    return refuse_it("it was not told of view " + std::to_string(run_.view.number) + "; it may join again",
                     true);
  if (unknown_view) {
    try_to_begin_anew();
    run_.timers.restart(PhaseTimers::Wait::returns);  // it is back
    if (run_.gathering.tries_to_begin_anew() || run_.term.taken_over()) return;
  } else if (!learn_from(message)) {
    return;
  }
  const std::string refusal = run_.membership->returns().adopt(message);
  if (!refusal.empty() && run_.phase == CoordinatorPhase::forming) some_were_here();
  if (!refusal.empty()) return refuse_it(refusal, true);
  connections_.connect(who, actor);
  run_.timers.restart(PhaseTimers::Wait::returns);
  run_.watch->came(who, port_.elapsed());
  if (run_.report.transport.empty()) run_.report.transport = message.prepared.transport;
  if (run_.phase == CoordinatorPhase::adopting && run_.membership->all(NodeStage::installed)) adopted_all();
}

// The first view was in the journal and never sent to this member: nothing was begun. All join anew. False,
// here and below: the disk of the journal takes nothing now, and the member asks again.
bool Adoption::begin_anew() {
  if (!run_.setup.resume && run_.view.records > 0) return ending_.fail(why_resume(run_.view)), false;
  if (run_.pending.is_over() || run_.pending.refused_until_later(port_.now())) return false;
  auto membership = std::make_unique<Membership>(run_.setup.job, run_.membership->admission().free_numbers());
  std::swap(membership, run_.membership);  // the numbers of its places go into the journal
  const std::uint32_t first_before =
      std::exchange(run_.first_view, std::max(run_.first_view, run_.view.number + 1));
  try {
    journal_.note(View{});
  } catch (const Error& error) {
    std::swap(membership, run_.membership);
    run_.first_view = first_before;
    if (!run_.term.taken_over()) journal_.journal_refused(View{}, error.what());
    return false;
  }
  for (const NodeName& who : port_.known()) {
    if (membership->alive(who)) port_.send(who, Stop{false, "the run begins anew", true});
  }
  connections_.forget_all();
  run_.away.clear();
  run_.lost.clear();
  run_.watch = std::make_unique<ClusterWatch>(run_.setup.job.cluster, kCoordinatorTick);
  readiness_.begin_anew();
  run_.view = View{};
  run_.pending.drop();
  run_.begun = false;
  run_.phase = CoordinatorPhase::forming;
  run_.gathering.place_is_free();
  if (!run_.gathering.waits_for_unknown_members()) arrivals_.admit_callers();
  return true;
}

// They joined the coordinator before this one. Who was there with them may be gone.
void Adoption::some_were_here() {
  if (run_.gathering.has_free_place() || !run_.setup.by_hand) return;
  run_.gathering.place_is_free();
  port_.raise(make_event(
      "notice", {{"text",
                  "nodes that were here before this coordinator was started again are back; others are "
                  "waited for " +
                      std::to_string(run_.setup.job.cluster.start_patience.count()) +
                      " ms (cluster.start_patience); then the run begins without them, if "
                      "cluster.min_replicas are there"}}));
}

void Adoption::try_to_begin_anew() {
  const bool done = begin_anew() || run_.term.taken_over();
  run_.gathering.try_to_begin_anew(!done);
}

// The journal may be older than what members hold: it was restored from a copy.
bool Adoption::learn_from(const Adopt& message) {
  const bool forming = run_.unknown_members_may_come();
  if ((run_.phase != CoordinatorPhase::adopting && !forming) || canary("journal-knows-best")) return true;
  const std::uint32_t known = forming ? run_.first_view - 1 : run_.view.number;
  // The last view of a run waits for no journal. The view of that number in the journal was sent to nobody.
  const bool is_last = !forming && message.view.number == known && message.view.last && !run_.view.last;
  const bool newer = (message.view.number > known || is_last) &&
                     makes_sense(message.view, message.join.name, run_.setup.job.train.shards);
  const bool expected =
      !forming && run_.membership->returns().expects(message.join.name, message.join.incarnation);
  if (!newer && !expected) return true;
  run_.term.rise_above(message.term);
  if (newer) {
    go_on_with(message.view);
    run_.term.journal_lacks_it();
  }
  return journal_.note_what_it_lacks();
}

// Who is in no newer view joins again.
void Adoption::go_on_with(const View& view) {
  std::vector<NodeName> stay;
  for (const NodeName& who : port_.known()) {
    if (!run_.membership->alive(who)) continue;
    if (run_.membership->member(who) && view.holds(who)) {
      stay.push_back(who);
    } else {
      port_.send(who, Stop{false, "replicas of this run have come back, and it goes on with them", true});
    }
  }
  connections_.forget_all_but(stay);
  run_.lost.clear();
  run_.gathering.none_is_free();
  port_.raise(
      make_event("notice", {{"text", "replicas of this run live, and hold more than its journal says (view " +
                                         std::to_string(run_.view.number) + "): it goes on with their view " +
                                         std::to_string(view.number)}}));
  run_.gathering.try_to_begin_anew(false);
  checkpoints_.suspects.forget();  // what the journal said of is an older view
  checkpoints_.known->forget_reports();
  checkpoints_.verdicts.goes_on();
  wait_for_members(view, run_.membership->admission().free_numbers());
}

// A member whose connection broke, and that has reached this coordinator again. What was on its way may be
// lost; a new view tells all of it again.
void Adoption::returned(const Adopt& message, const node_actor& actor) {
  const NodeName& who = message.join.name;
  run_.watch->came(who, port_.elapsed());
  // It asks until it hears something: over the same connection that says nothing new.
  if (run_.away.erase(who) == 0 && connections_.is_connection_of(who, actor)) {
    if (run_.phase != CoordinatorPhase::adopting) port_.send(who, Adopted{run_.term.number()});
    return;
  }
  connections_.connect(who, actor);
  readiness_.came_back(who);
  if (!run_.begun && (run_.phase == CoordinatorPhase::forming || run_.phase == CoordinatorPhase::noting))
    return returned_early(message);
  if (!run_.membership->member(who))
    return views_.turn_away(who, "its connection to the coordinator broke", true);
  const bool up_to_date = message.begun && message.view.number == run_.view.number;
  run_.membership->returns().reconnected(message);
  if (message.view.number != run_.view.number) run_.watch->missed_view(who);
  if (run_.phase == CoordinatorPhase::adopting) return;
  port_.send(who, Adopted{run_.term.number()});
  const std::vector<NodeName> fed = run_.membership->transfers().newcomers_of(who, message.view.number);
  for (const NodeName& newcomer :
       run_.membership->transfers().no_longer_of(who))  // it may have missed that it does not any more
    port_.send(who, Donate{message.view.number, run_.membership->member_of(newcomer), false, true});
  // A newcomer connected to it. Both do, or the next connection of the one is paired with this of the other.
  // What it was asked for since then was lost: in a pause they are fed anew.
  for (const NodeName& newcomer : fed) {
    port_.send(who, Donate{message.view.number, run_.membership->member_of(newcomer), false, false});
    if (!run_.membership->member(newcomer)) run_.membership->transfers().to_begin_again(newcomer);
  }
  if (run_.phase == CoordinatorPhase::closing) {
    port_.send(who, Close{run_.term.number(), message.view.number, run_.lost});
  } else if (run_.phase == CoordinatorPhase::installing ||
             (run_.phase == CoordinatorPhase::running && !up_to_date) || !fed.empty()) {
    views_.close_view();
  }
}

// Nobody was told of a view yet: all that it can have missed is that it was heard.
void Adoption::returned_early(const Adopt& message) {
  const NodeName& who = message.join.name;
  port_.send(who, Adopted{run_.term.number()});
  if (run_.membership->at(who).stage != NodeStage::joined || message.prepared.address.empty()) return;
  Prepared prepared = message.prepared;
  prepared.name = who;
  readiness_.on(prepared);
}

void Adoption::adopted_all() {
  run_.report.ledger_unit = run_.view.facts.unit_is_batch ? "batch" : "sample";
  for (const NodeName& who : port_.known()) {
    if (!run_.membership->member(who)) continue;
    const NodeRecord& record = run_.membership->at(who);
    if (run_.membership->alive(who))
      port_.raise(make_event(
          "returned",
          {{kind(who), number(who.slot)}, {"pid", record.process.pid}, {"device", record.process.device}}));
    port_.send(who, Adopted{run_.term.number()});
  }
  const bool any_leaves = std::ranges::any_of(run_.membership->nodes(), [this](const auto& node) {
    return node.second.leaving && run_.membership->member(node.first);
  });
  if (run_.lost.empty() && all_have_begun(run_.membership->nodes(), run_.view.number) &&
      !run_.end.keeps_state() && !run_.view.last && !checkpoints_.suspects.compared_next() &&
      !checkpoints_.suspects.any() && !any_leaves) {
    views_.go_on();
  } else {
    views_.close_view();
  }
  arrivals_.admit_callers();
}

// Where no member is back they may still look for this coordinator; where one is, the others follow soon.
// Counted in ticks: time in which this coordinator did not run is nobody's silence.
bool Adoption::judge_returns() {
  const auto missing = run_.membership->returns().missing();
  if (missing.empty() || run_.term.journal_is_behind()) return false;
  const auto& cluster = run_.setup.job.cluster;
  auto wait = wait_for_returns(run_.membership->returns().any_replica_is_back(), cluster.detect.patience,
                               cluster.orphan_after);
  if (canary("returns-have-little-time")) wait = std::chrono::seconds(5);
  if (!run_.timers.is_over(PhaseTimers::Wait::returns, wait)) return false;
  for (const NodeName& who : missing) {
    if (run_.phase != CoordinatorPhase::adopting || run_.end.decided()) break;
    views_.lost(
        who, "coordinator",
        "it has not come back to the restarted coordinator within " + std::to_string(wait.count()) + " ms");
  }
  return true;
}

void Adoption::none_came_back() {
  const bool can_resume = checkpoints_.known->last_before(CheckpointFacts::kAllSteps).has_value();
  const bool cannot_tell = !checkpoints_.known->can_be_listed() || checkpoints_.known->is_away();
  const auto& cluster = run_.setup.job.cluster;
  const auto wait = wait_for_returns(false, cluster.detect.patience, cluster.orphan_after);
  ending_.fail(
      "no member of the last view has come back and stayed; the first is waited for " +
      std::to_string(wait.count()) + " ms (cluster.orphan_after, and the time until members know); " +
      (can_resume    ? "go on from a checkpoint with --resume"
       : cannot_tell ? "checkpoint.folder cannot be read now: make it readable, and look with --resume for "
                       "a checkpoint to go on from"
                     : "no checkpoint is here: to begin again, move the journal away"));
}

}  // namespace muster
