#include "actors/coordinator/coordinator.hpp"

#include <algorithm>
#include <random>

#include "actors/coordinator/progress_history.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "actors/messages/strangers.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

// What is waited for of a node that has joined.
constexpr const char* kReady = "its data and model to be ready";

}  // namespace

void CoordinatorState::start(Self self, CoordinatorSetup setup) {
  self_ = self;
  setup_ = std::move(setup);
  began_ = self->clock().now();
  term_.set_writer(std::random_device{}() + 1ull);
  self->set_exception_handler([this](caf::scheduled_actor*, std::exception_ptr& thrown) -> caf::error {
    fail_of(thrown);
    finish();  // no tick comes any more
    return caf::exit_reason::unhandled_exception;
  });
  membership_ = std::make_unique<Membership>(setup_.job);
  watch_ = std::make_unique<ClusterWatch>(setup_.job.cluster, kTick);
  checkpoints_ =
      std::make_unique<KnownCheckpoints>(setup_.checkpoints, setup_.job, setup_.job_hash, verdicts_);
  report_.job = setup_.job.name;
  report_.replicas = setup_.job.cluster.replicas;
  report_.shards = setup_.job.train.shards;
  self->set_down_handler([this](const caf::down_msg& down) { node_down(down.source); });
  refuse_strangers(self, [this](const std::string& reason) {
    raise(make_event("refused", {{"reason", reason}}));
  });
  raise(make_event("started", {{"job", setup_.job.name},
                               {"replicas", number(setup_.job.cluster.replicas)},
                               {"shards", number(setup_.job.train.shards)},
                               {"loaders", number(setup_.job.cluster.loaders)}}));
  for (const Event& event : setup_.first_events) raise(event);
  if (setup_.resume) report_resumed();
  begin_history();
  try {
    look_into_journal();
  } catch (const Error& error) {
    setup_.journal.reset();  // what it says stays as it is: it may be another run's
    return fail(std::string("the journal cannot be kept: ") + error.what());
  }
  self->delayed_send(self, kTick, Tick{});
}

// What was told before the checkpoint is part of this run's report.
void CoordinatorState::report_resumed() {
  const Resume& resume = *setup_.resume;
  std::string passed_over;
  for (const PassedOver& one : resume.passed_over)
    passed_over += (passed_over.empty() ? "" : "; ") + one.manifest + ": " + one.why;
  raise(make_event("resumed", {{"step", number(resume.step)},
                               {"epoch", number(resume.epoch)},
                               {"path", resume.path},
                               {"passed_over", passed_over}}));
  epochs_.start_with(resume.epochs);
  report_.steps = resume.step;
  report_.samples = resume.samples;
  checkpoints_->go_on_from(
      {resume.manifest, resume.records, resume.step, resume.path, {}, 0, resume.weights_sha256});
  checkpoints_->know_of_one();
}

std::chrono::nanoseconds CoordinatorState::elapsed() const {
  return self_->clock().now() - began_;
}

void CoordinatorState::raise(Event event) {
  event.time_ms = milliseconds(elapsed());
  add_where(event);
  report_.add(event);
  report(event);
}

void CoordinatorState::report(const Event& event) {
  if (setup_.on_event) setup_.on_event(event);
}

void CoordinatorState::report_progress(const Progress& message) {
  const auto row = setup_.progress ? setup_.progress->take(message, elapsed()) : std::nullopt;
  if (!row) return;
  Event event = event_of(*row);
  event.time_ms = row->time_ms;
  ++report_.event_counts[event.name];
  report(event);
}

void CoordinatorState::on(const Progress& message) {
  if (message.took >= back_in_) {
    report_.steps = std::max(report_.steps, message.step);
    report_.samples = std::max(report_.samples, message.samples);
    training_.heard(message, self_->clock().now());
  }
  const bool of_this_view = in_force() && message.took == view_.number;
  if (of_this_view && suspects_.settled_by(message.step, view_)) note_suspects();
  if (of_this_view) report_first_step(message);
  if (of_this_view) takes_effect();
  if (of_this_view) let_go_of_held_back();  // not for steps that a member catches up with
  if (message.took >= back_in_ && !end_.decided()) report_progress(message);
  if (setup_.on_progress) setup_.on_progress(message, view_.facts);
}

// A step was made in the view that is in force. Before it all compared the whole of their weights, where one
// was alone and has given its state to the others. Those who have caught up meanwhile were not to interrupt
// it.
void CoordinatorState::takes_effect() {
  if (view_.replicas.size() > 1) membership_->weights_compared();
  if (end_.decided() || std::exchange(took_effect_, true)) return;
  mounts_.end();
  if (membership_->transfers().any_caught_up()) close_view();
}

// Every replica counts the ledger for itself; they must agree. What is told in a view before all went back is
// of steps that are done again.
void CoordinatorState::on(const EpochEnd& message) {
  const NodeRecord* teller = membership_->find({false, message.slot});
  if (teller && teller->stage == NodeStage::lost) return;
  if (end_.decided() || message.view < back_in_ || epochs_.counts(message.epoch)) return;
  if (const auto other = epochs_.take(message)) {
    const std::string what = "the ledger or evaluation of epoch " + std::to_string(message.epoch) +
                             " of replica " + std::to_string(*other) + " and of replica " +
                             std::to_string(message.slot);
    raise(make_event("diverged", {{"what", what}}));
    return fail("diverged: " + what + " differ");
  }
  count_epoch(message.epoch);
}

// An epoch is counted when every member of the view has told of it. To a coordinator that was started anew
// each member tells of all epochs, and perhaps of one that has just ended before all have told of those
// before it.
void CoordinatorState::count_epoch(std::uint64_t epoch, bool all_reported) {
  if (phase_ == CoordinatorPhase::adopting) return;
  for (const Member& member : view_.replicas) {
    if (!all_reported && membership_->alive(member.name) && !epochs_.has_reported(epoch, member.name.slot))
      return;
  }
  const auto counted = epochs_.count(epoch);
  if (!counted) return;
  const EpochEnd& row = *counted;
  report_.steps = std::max(report_.steps, row.steps);
  report_.samples = std::max(report_.samples, row.samples);
  raise(make_event("epoch", {{"epoch", number(row.epoch)},
                             {"complete", row.complete},
                             {"steps", number(row.steps)},
                             {"samples", number(row.samples)},
                             {"loss", row.train_loss},
                             {"used", number(row.used)},
                             {"repeated", number(row.repeated)},
                             {"missed", number(row.missed)},
                             {"dropped", number(row.dropped)}}));
  if (row.evaluated) {
    raise(make_event("evaluated",
                     {{"epoch", number(row.epoch)}, {"loss", row.loss}, {"accuracy", row.accuracy}}));
  }
}

void CoordinatorState::on(const ReplicaDone& message) {
  if (end_.decided() || phase_ != CoordinatorPhase::running || !membership_->member({false, message.slot}))
    return;
  for (const EpochEnd& epoch : message.epochs) on(epoch);
  if (end_.decided()) return;
  if (const std::string reason = membership_->done(message); !reason.empty()) {
    raise(make_event("diverged", {{"what", reason}}));
    return fail("diverged: " + reason);
  }
  report_.phases[message.slot] = message.phases;
  report_.traffic[message.slot] = message.traffic;
  report_.algorithm = message.algorithm;
  if (!message.note.empty()) report_.notes[message.slot] = message.note;
  if (!message.checkpoint.empty()) report_.checkpoint = message.checkpoint;
  training_.end(self_->clock().now());
  if (membership_->all(NodeStage::done, true)) complete();
}

void CoordinatorState::complete() {
  // Some may have told of an epoch a coordinator that is gone, and not this one yet.
  for (const std::uint64_t epoch : epochs_.open()) count_epoch(epoch, true);
  const ReplicaDone& last = membership_->at(view_.replicas.front().name).done;
  report_.steps = last.steps;
  report_.samples = last.samples;
  report_.weights_sha256 = last.state_sha256;
  if (last.steps_asked >= 0) {
    raise(make_event("exhausted", {{"scope", "job"},
                                   {"what", "train.steps"},
                                   {"asked", last.steps_asked},
                                   {"had", number(last.steps)}}));
  }
  conclude("completed", {});
}

void CoordinatorState::node_down(const caf::actor_addr& address) {
  for (const auto& [who, actor] : actors_) {
    if (actor.address() != address || !membership_->alive(who)) continue;
    if (end_.decided() || (membership_->at(who).leaving && !membership_->member(who))) {
      membership_->left(who);
      if (!end_.decided() || report_.completed())
        raise(make_event("left", {{kind(who), number(who.slot)}, {"pid", membership_->at(who).process.pid}}));
      if (end_.decided() && membership_->none_alive()) finish();
    } else if (watch_->in_touch(who, elapsed())) {
      lost(who, "coordinator", "its connection is closed");
    } else {  // it may live, and come back over another connection; its silence is what counts
      away_.insert(who);
    }
    return;
  }
}

void CoordinatorState::on(const StopRequest& message) {
  switch (end_.told_to_end(message.reason, message.waits)) {
    case RunEnd::Told::known:
      return;
    case RunEnd::Told::second:
      return not_kept("the run was told to end for the second time");
    case RunEnd::Told::notice:
      return raise(make_event("notice", {{"text",
                                          "the run ends already, and writes a last checkpoint; told to "
                                          "end again, it ends without"}}));
    case RunEnd::Told::first:
      break;
  }
  raise(make_event("interrupted", {{"reason", message.reason}}));
  if (!keep_state("interrupted", message.reason)) return conclude("interrupted", message.reason);
  end_.was_told();
}

// Nothing could come in a time in which this coordinator stood still: no wait is over for that.
void CoordinatorState::skip_own_standstill() {
  const Time now = self_->clock().now();
  const auto gap = standstill_.tick(
      now, std::max<std::chrono::nanoseconds>(setup_.job.cluster.detect.patience, kTicksOfSlack * kTick));
  if (gap == gap.zero()) return;
  recovery_.stood_still(gap, now);
  folder_wait_.stood_still(gap, now);
  pending_.stood_still(gap, now);
  silence_.stood_still(gap, now);
  mounts_.stood_still(gap, now);
  end_.stood_still(gap, now, setup_.job.checkpoint.grace);
}

void CoordinatorState::on(const Tick& message) {
  if (end_.finished()) return;
  if (message.once) return ask_to_close();
  skip_own_standstill();
  self_->delayed_send(self_, kTick, message);
  if (end_.decided()) {
    if (end_.parting_is_over(self_->clock().now())) finish();
    return;
  }
  const auto& cluster = setup_.job.cluster;
  if (verdicts_.tries_again()) mark_suspects_again();
  if (self_->clock().now() - pulse_at_ >= cluster.detect.heartbeat) pulse();
  if (end_.keeping_is_over(self_->clock().now())) {
    return not_kept("no member wrote a checkpoint within " +
                    std::to_string(setup_.job.checkpoint.grace.count()) + " ms (checkpoint.grace)" +
                    end_.refusal());
  }
  if (phase_ == CoordinatorPhase::paused && recovery_.is_over(self_->clock().now(), cluster.give_up_after)) {
    return give_up();
  }
  if (judge() || begin_with_those_here()) return;
  take_in_reached(kTick);
  report_late_to_prepare();
  note_again();
  if (!begun_ && !setup_.by_hand && elapsed() - standstill_.total() >= cluster.start_patience) {
    raise_late();
    fail("the nodes were not ready within " + std::to_string(cluster.start_patience.count()) +
         " ms (cluster.start_patience); still waiting for " + list_of(nodes_behind(membership_->nodes())));
  }
}

void CoordinatorState::pulse() {
  pulse_at_ = self_->clock().now();
  const Pulse pulse{term_.number(), checkpoints_->last().step, membership_->admission().free_numbers(),
                    whom_it_waits_for()};
  for (const auto& [who, actor] : actors_) {
    if (membership_->alive(who)) self_->send(actor, pulse);
  }
}

void CoordinatorState::raise_late() {
  static const std::map<NodeStage, const char*> waited_for = {
      {NodeStage::joined, "its process to join"},
      {NodeStage::prepared, kReady},
      {NodeStage::installed, "its greeting by all members"}};
  const NodeStage stage = stage_behind(membership_->nodes());
  for (const NodeName& who : nodes_behind(membership_->nodes(), stage)) {
    raise(make_event("late", {{kind(who), number(who.slot)},
                              {"waited_for", std::string(waited_for.at(stage))},
                              {"waited_ms", milliseconds(elapsed())}}));
  }
}

// Nodes that come by themselves have no deadline; but one that hangs is to be seen.
void CoordinatorState::report_late_to_prepare() {
  if (!begun_ && !setup_.by_hand) return;  // the run fails for it
  const auto patience = setup_.job.cluster.start_patience;
  const auto late = membership_->admission().late_to_prepare(patience / kTick);
  for (const NodeName& who : late) {
    raise(make_event("late", {{kind(who), number(who.slot)},
                              {"waited_for", std::string(kReady)},
                              {"waited_ms", milliseconds(patience)}}));
  }
  if (late.empty()) return;
  if (phase_ == CoordinatorPhase::paused) return next_view();  // who leaves may have waited for it
  let_go_of_held_back();
}

void CoordinatorState::fail(const std::string& reason) {
  if (end_.decided()) return;
  raise(make_event("failed", {{"reason", reason}}));
  conclude("failed", reason);
}

// Its own error, or one of an observer in this process, which may come again.
void CoordinatorState::fail_of(const std::exception_ptr& thrown) {
  std::string reason = "a bug in the coordinator";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    reason += std::string(": ") + error.what();
  } catch (...) {
    // It says nothing of itself.
  }
  try {
    fail(reason);
  } catch (...) {
    conclude("failed", reason);
  }
}

// One of those that are left writes what they hold before all go.
void CoordinatorState::give_up() {
  const std::string starved = list_of(membership_->transfers().without_state());
  const std::string reason =
      "no nodes came within " + std::to_string(setup_.job.cluster.give_up_after.count()) +
      " ms (cluster.give_up_after)" +
      (starved.empty() ? "" : ", but " + starved + ", which got no state from a member");
  if (keep_state("failed", reason)) return;
  fail(reason + "; with checkpoint.folder the state would have been kept");
}

void CoordinatorState::last_note(bool ended) {
  try {
    note(view_, ended);
  } catch (const Error& error) {
    raise(make_event("notice",
                     {{"text", std::string("the journal's last entry is missing: ") + error.what()}}));
  }
}

// Of the end. Who could not be heard may live, and hold steps that no verdict may throw away: the journal
// does not count as ended, and a coordinator that is started again waits for them.
bool CoordinatorState::all_know() const {
  if (canary("verdict-beats-state")) return true;
  if (phase_ == CoordinatorPhase::adopting || unknown_members_may_come()) return false;
  return std::ranges::all_of(membership_->nodes(), [this](const auto& node) {
    return !membership_->alive(node.first) || watch_->in_touch(node.first, elapsed());
  });
}

// Whether those who are not heard now are better left alone: a coordinator that is started again finds them
// by its journal. Where results may be wrong they are to hear so, whenever that is.
bool CoordinatorState::may_be_found_again(const std::string& outcome) const {
  return setup_.journal && outcome != "completed" && silence_.lasts() && !suspects_.any() &&
         !canary("unheard-are-told");
}

void CoordinatorState::conclude(const std::string& outcome, const std::string& reason) {
  if (outcome != "completed") suspect_what_is_doubted(true);
  if (term_.taken_over()) return;
  if (outcome != "completed" && !end_.gives_up_silence()) keep_no_damaged();
  const Time now = self_->clock().now();
  end_.decide(now);
  training_.end_at_latest(now);
  if (setup_.on_conclude) setup_.on_conclude();
  report_.outcome = outcome;
  report_.reason = reason;
  last_note(false);  // or another one has taken this run over: then nobody is told
  if (term_.taken_over()) return;
  for (const auto& [join, caller] : std::exchange(callers_, {}))
    refuse(caller, join.name, "the run has ended");
  const bool leaves_unheard = end_.gives_up_silence() || may_be_found_again(outcome);
  // They have done what they were told.
  const bool all_good = outcome != "failed" && report_.event_counts.count("state_not_kept") == 0;
  for (const auto& [who, actor] : actors_) {
    const bool good = all_good || membership_->at(who).leaving;
    // A message that waits in the connection would end those who live when their link is good again.
    if (leaves_unheard && !watch_->in_touch(who, elapsed())) continue;
    if (membership_->alive(who)) self_->send(actor, Stop{good, reason, false, false, suspects_.from()});
  }
  if (!report_.completed()) end_.tell(all_know());
  // Those who live are further than the checkpoint.
  if (outcome != "completed" && !report_.kept && checkpoints_->any() && !end_.gives_up_silence() &&
      !verdicts_.suspects_stay())
    report_.kept = Report::Kept{checkpoints_->last().step, {}};
  // After a failure of a launcher nobody is waited for: it ends by force what does not end by itself. But one
  // that is told so while it writes what may be wrong says so, and that is set aside; and whose nodes were
  // started by hand knows only by their going that they have heard it.
  const bool waits = outcome == "completed" || end_.keeps_state() || suspects_.any() || setup_.journal;
  if (!waits || membership_->none_alive()) finish();
}

void CoordinatorState::finish() {
  if (!end_.finish()) return;
  report_.epochs = epochs_.counted();
  try {
    sum_up();
  } catch (const std::exception&) {
    // What is told of the end may fail; that the run ends does not.
  }
  notify_end_waiters();
  // What was not heard by all when the run ended has not been heard since.
  const bool told = end_.all_were_told() && all_know();
  const bool ended =
      told && (report_.completed() || membership_->none_alive() || canary("verdict-beats-state"));
  report_.members_may_live = setup_.journal && !ended;
  if (setup_.on_end) setup_.on_end(report_);
  // Behind the report: one that dies between the two tells it again, rather than never.
  last_note(ended);
}

void CoordinatorState::sum_up() {
  mark_suspects_again();
  if (suspects_.any()) set_suspects_aside(suspects_.from());  // what was written meanwhile
  if (report_.completed()) raise(make_event("completed", {{"steps", number(report_.steps)}}));
  report_.wall_seconds = std::chrono::duration<double>(elapsed()).count();
  double evaluating = 0;
  for (const auto& [slot, phases] : report_.phases) evaluating = std::max(evaluating, phases.evaluate_s);
  if (!report_.completed())
    std::tie(report_.steps, report_.samples) = std::pair(heard_of().steps, heard_of().samples);
  const std::uint64_t before = setup_.resume ? setup_.resume->samples : 0;
  const auto trained = training_.sum_up(report_.samples, before, evaluating);
  if (!begun_ || !trained) return;
  report_.train_seconds = trained->seconds;
  report_.samples_per_second = trained->samples_per_second;
}

coordinator_actor::behavior_type coordinator(CoordinatorState::Self self, CoordinatorSetup setup) {
  self->state.start(self, std::move(setup));
  return {[=](const Join& message) { self->state.on(message); },
          [=](const Prepared& message) { self->state.on(message); },
          [=](const Installed& message) { self->state.on(message); },
          [=](const Closed& message) { self->state.on(message); },
          [=](const CaughtUp& message) { self->state.on(message); },
          [=](const Leaving& message) { self->state.on(message); },
          [=](const Adopt& message) { self->state.on(message); },
          [=](const Raised& message) { self->state.on(message); },
          [=](const Progress& message) { self->state.on(message); },
          [=](const EpochEnd& message) { self->state.on(message); },
          [=](const ReplicaDone& message) { self->state.on(message); },
          [=](const Heartbeat& message) { self->state.on(message); },
          [=](const HeldUp& message) { self->state.on(message); },
          [=](const Failing& message) { self->state.on(message); },
          [=](const ChildEnded& message) { self->state.on(message); },
          [=](const StopRequest& message) { self->state.on(message); },
          [=](const Tick& message) { self->state.on(message); },
          [=](const Checkpointed& message) { self->state.on(message); },
          [=](const UnlikeBits& message) { self->state.on(message); },
          [=](const WentBack& message) { self->state.on(message); },
          [=](const Reached& message) { self->state.on(message); },
          [=](const StatusRequest& message) { return self->state.on(message); }};
}

}  // namespace muster
