#include "actors/coordinator/coordinator.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "actors/coordinator/facts/run_standing.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "actors/messages/strangers.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

// What is waited for of a node that has joined.
constexpr const char* kReady = "its data and model to be ready";

// So many ticks may be late before the coordinator counts as one that stood still.
constexpr int kStandstillTicks = 4;

}  // namespace

coordinator_actor::behavior_type coordinator(CoordinatorState::Self self, CoordinatorSetup setup) {
  self->state.start(self, std::move(setup));
  return self->state.behavior();
}

coordinator_actor::behavior_type CoordinatorState::behavior() {
  return {[this](const Join& message) { arrivals_.on(message); },
          [this](const Prepared& message) { readiness_.on(message); },
          [this](const Installed& message) { on(message); },
          [this](const Closed& message) { view_change_.on(message); },
          [this](const CaughtUp& message) { newcomers_.on(message); },
          [this](const Leaving& message) { departures_.on(message); },
          [this](const Adopt& message) { adoption_.on(message); },
          [this](const Raised& message) { run_ending_.on(message); },
          [this](const Progress& message) { on(message); },
          [this](const EpochEnd& message) { epoch_reports_.on(message); },
          [this](const ReplicaDone& message) { epoch_reports_.on(message); },
          [this](const Heartbeat& message) { members_.on(message); },
          [this](const HeldUp& message) { members_.on(message); },
          [this](const Failing& message) { departures_.on(message); },
          [this](const ChildEnded& message) { departures_.on(message); },
          [this](const StopRequest& message) { run_ending_.on(message); },
          [this](const Tick& message) { on(message); },
          [this](const Checkpointed& message) { run_ending_.on(message); },
          [this](const UnlikeBits& message) { corruption_.on(message); },
          [this](const WentBack& message) { rollback_.on(message); },
          [this](const Reached& message) { readiness_.on(message); },
          [this](const StatusRequest& message) { return on(message); }};
}

void CoordinatorState::start(Self self, CoordinatorSetup setup) {
  self_ = self;
  run_.setup = std::move(setup);
  port_.start(self);
  run_.term.set_writer(std::random_device{}() + 1ull);
  self->set_exception_handler([this](caf::scheduled_actor*, std::exception_ptr& thrown) -> caf::error {
    run_ending_.fail_of(thrown);
    run_ending_.finish_at_once();  // no tick comes any more
    return caf::exit_reason::unhandled_exception;
  });
  run_.membership = std::make_unique<Membership>(run_.setup.job);
  run_.watch = std::make_unique<ClusterWatch>(run_.setup.job.cluster, kCoordinatorTick);
  checkpoints_.known = std::make_unique<KnownCheckpoints>(run_.setup.checkpoints, run_.setup.job,
                                                          run_.setup.job_hash, checkpoints_.verdicts);
  run_.report.began = std::chrono::system_clock::now();
  run_.report.job = run_.setup.job.name;
  run_.report.replicas = run_.setup.job.cluster.replicas;
  run_.report.shards = run_.setup.job.train.shards;
  self->set_down_handler([this](const caf::down_msg& down) { departures_.node_down(down.source); });
  refuse_strangers(self, [this](const std::string& reason) {
    port_.raise(make_event("refused", {{"reason", reason}}));
  });
  port_.raise(make_event("started", {{"job", run_.setup.job.name},
                                     {"replicas", number(run_.setup.job.cluster.replicas)},
                                     {"shards", number(run_.setup.job.train.shards)},
                                     {"loaders", number(run_.setup.job.cluster.loaders)}}));
  for (const Event& event : run_.setup.first_events) port_.raise(event);
  if (run_.setup.resume) adoption_.report_resumed();
  suspect_checkpoints_.begin_history();
  try {
    adoption_.look_into_journal();
  } catch (const Error& error) {
    run_.setup.journal.reset();  // what it says stays as it is: it may be another run's
    return fail(std::string("the journal cannot be kept: ") + error.what());
  }
  arrivals_.report_waiting();
  standstill_.begin(port_.now());
  self->delayed_send(self, kCoordinatorTick, Tick{});
}

// ---- messages that no part handles alone

// Of a newcomer: it knows its donor. Of a member: it has been greeted by all others.
void CoordinatorState::on(const Installed& message) {
  if (run_.end.decided()) return;
  if (run_.membership->alive(message.name) &&
      run_.membership->transfers().has_donor(message.name, message.view))
    return newcomers_.newcomer_ready(message.name);
  view_change_.on(message);
}

void CoordinatorState::on(const Progress& message) {
  if (message.took >= checkpoints_.back_in) {
    run_.report.steps = std::max(run_.report.steps, message.step);
    run_.report.samples = std::max(run_.report.samples, message.samples);
    run_.training.heard(message, port_.now());
  }
  const bool of_this_view = run_.in_force() && message.took == run_.view.number;
  if (of_this_view && checkpoints_.suspects.settled_by(message.step, run_.view)) journal_.note_suspects();
  if (of_this_view) view_change_.makes_step(message);
  if (message.took >= checkpoints_.back_in && !run_.end.decided()) port_.raise_progress(message);
  if (run_.setup.on_progress) run_.setup.on_progress(message, run_.view.facts);
}

caf::result<RunStatus> CoordinatorState::on(const StatusRequest& message) {
  if (message.at_end && !run_.end.finished()) return port_.answer_at_end();
  return status_of(run_, checkpoints_, port_.elapsed());
}

// ---- at each tick

void CoordinatorState::on(const Tick& message) {
  if (run_.end.finished()) return;
  if (message.once) return view_change_.ask_to_close();
  skip_own_standstill();
  self_->delayed_send(self_, kCoordinatorTick, message);
  if (checkpoints_.verdicts.tries_again()) suspect_checkpoints_.mark_suspects_again();
  if (run_.end.decided()) {
    if (run_.end.parting_is_over(port_.now())) finish();
    return;
  }
  const auto& cluster = run_.setup.job.cluster;
  members_.pulse_if_due();
  departures_.judge_cut_off();
  if (run_.end.keeping_is_over(port_.now())) {
    return run_ending_.not_kept("no member wrote a checkpoint within " +
                                std::to_string(run_.setup.job.checkpoint.grace.count()) +
                                " ms (checkpoint.grace)" + run_.end.refusal());
  }
  const auto give_up_after =
      canary("pause-has-no-patience") ? std::chrono::milliseconds(100) : cluster.give_up_after;
  if (run_.phase == CoordinatorPhase::paused && run_.recovery.is_over(port_.now(), give_up_after)) {
    return view_change_.go_on_without_loader() ? void() : run_ending_.give_up();
  }
  if (judge()) return;
  if (run_.gathering.tries_to_begin_anew()) adoption_.try_to_begin_anew();
  if (arrivals_.begin_with_those_here() || arrivals_.fail_for_missing()) return;
  readiness_.take_in_reached(kCoordinatorTick);
  report_late_to_prepare();
  note_again();
  if (!run_.begun && !run_.setup.by_hand && port_.elapsed() - standstill_.total() >= cluster.start_patience)
    fail_for_late();
}

// Nothing could come in a time in which this coordinator stood still: no wait is over for that.
void CoordinatorState::skip_own_standstill() {
  const auto now = port_.now();
  const auto gap =
      standstill_.tick(now, std::max<std::chrono::nanoseconds>(run_.setup.job.cluster.detect.patience,
                                                               kStandstillTicks * kCoordinatorTick));
  if (gap == gap.zero()) return;
  run_.recovery.stood_still(gap, now);
  rollback_.stood_still(gap, now);
  run_.pending.stood_still(gap, now);
  run_.silence.stood_still(gap, now);
  run_.end.stood_still(gap, now, run_.setup.job.checkpoint.grace);
}

bool CoordinatorState::judge() {
  if (run_.phase != CoordinatorPhase::running) hanging_.no_view_in_force();
  const auto judgement =
      run_.watch->judge([this](const NodeName& who) { return run_.membership->alive(who); }, port_.elapsed());
  members_.see(judgement.sight);
  if (judgement.sight == SelfDoubt::Sight::all_silent) {
    for (const Event& event : judgement.events) port_.raise(event);
    return members_.give_up_silence();
  }
  if (run_.phase == CoordinatorPhase::adopting && adoption_.judge_returns()) return true;
  if (rollback_.judge_going_back(true)) return true;
  const bool owed = !run_.watch->in_doubt(port_.elapsed()) &&
                    !run_.gathering.tries_to_begin_anew();  // of a view that is void nobody owes anything
  if (owed && (members_.judge_closing() || members_.judge_installing() || members_.judge_loaders() ||
               hanging_.judge_hanging()))
    return true;
  return members_.follow(judgement);
}

// Of a run whose nodes were launched, and that begins with all of them.
void CoordinatorState::fail_for_late() {
  static const std::map<NodeStage, const char*> waited_for = {
      {NodeStage::joined, "its process to join"},
      {NodeStage::prepared, kReady},
      {NodeStage::installed, "its greeting by all members"}};
  const NodeStage stage = stage_behind(run_.membership->nodes());
  for (const NodeName& who : nodes_behind(run_.membership->nodes(), stage)) {
    port_.raise(make_event("late", {{kind(who), number(who.slot)},
                                    {"waited_for", std::string(waited_for.at(stage))},
                                    {"waited_ms", milliseconds(port_.elapsed())}}));
  }
  fail("the nodes were not ready within " + std::to_string(run_.setup.job.cluster.start_patience.count()) +
       " ms (cluster.start_patience); still waiting for " + list_of(nodes_behind(run_.membership->nodes())));
}

// Nodes that come by themselves have no deadline; but one that hangs is to be seen.
void CoordinatorState::report_late_to_prepare() {
  if (!run_.begun && !run_.setup.by_hand) return;  // the run fails for it
  const auto patience = run_.setup.job.cluster.start_patience;
  const auto late = run_.membership->admission().late_to_prepare(patience / kCoordinatorTick);
  for (const NodeName& who : late) {
    port_.raise(make_event("late", {{kind(who), number(who.slot)},
                                    {"waited_for", std::string(kReady)},
                                    {"waited_ms", milliseconds(patience)}}));
  }
  if (late.empty()) return;
  if (run_.phase == CoordinatorPhase::paused) return next_view();  // who leaves may have waited for it
  view_change_.let_go_of_held_back();
}

void CoordinatorState::note_again() {
  using Due = PendingView::Due;
  const bool returns = run_.term.journal_is_behind();  // nobody is back before the journal says so
  switch (run_.pending.due(
      {run_.phase == CoordinatorPhase::noting, returns, run_.gathering.tries_to_begin_anew()}, port_.now())) {
    case Due::nothing:  // where the run begins anew see on(Tick)
      return;
    case Due::lacking:
      return void(journal_.note_what_it_lacks());
    case Due::make:
      return next_view();
    case Due::install:
      if (!journal_.is_outdated(run_.pending.view())) return install(View(run_.pending.view()));
      return run_.begun ? next_view() : adoption_.try_to_begin_anew();
    case Due::give_up:
      return journal_.give_up_journal();
  }
}

}  // namespace muster
