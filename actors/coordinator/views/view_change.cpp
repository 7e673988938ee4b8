#include "actors/coordinator/views/view_change.hpp"

#include <algorithm>
#include <utility>

#include "actors/coordinator/facts/coordinator_texts.hpp"
#include "actors/coordinator/states/next_view.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"

namespace muster {

namespace {

constexpr const char* kAllLeave = "every replica was asked to leave";

// Until members that close a view are told of others that were lost meanwhile.
constexpr auto kCloseAgain = std::chrono::milliseconds(5);

}  // namespace

// One authority, one view at a time: all who are left close this one, then the next is made of what they
// hold.
void ViewChange::close_view() {
  if (run_.phase != CoordinatorPhase::closing) {
    run_.phase = CoordinatorPhase::closing;
    run_.timers.restart(PhaseTimers::Wait::closing);
    run_.timers.restart(PhaseTimers::Wait::loaders);
    run_.membership->begin_close();
    ask_to_close();
  } else if (!std::exchange(close_again_, true)) {
    // Many may be lost at once; those who still wait for one of them are told of all together.
    port_.wake_once_in(kCloseAgain);
  }
  if (!run_.gathering.tries_to_begin_anew() && run_.membership->all(NodeStage::closed))
    next_view();  // nobody is left to wait for
}

void ViewChange::ask_to_close() {
  close_again_ = false;
  if (run_.end.decided() || run_.phase != CoordinatorPhase::closing) return;
  for (const NodeName& who : not_closed(run_.membership->nodes()))
    port_.send(who, Close{run_.term.number(), run_.membership->at(who).view.number, run_.lost});
}

void ViewChange::on(const Closed& message) {
  if (run_.end.decided() || run_.phase != CoordinatorPhase::closing || run_.gathering.tries_to_begin_anew() ||
      !run_.membership->alive(message.name) || message.view != run_.membership->at(message.name).view.number)
    return;
  run_.membership->closed(message);
  if (!message.name.loader) {
    run_.report.phases[message.name.slot] = message.phases;
    run_.report.traffic[message.name.slot] = message.traffic;
  }
  if (message.took == run_.view.number) {  // told of no step: it was the last one, or none is left
    run_.took_effect = true;
    rollback_.all_have_read();
  }
  if (run_.is_going_back()) run_.membership->begin_again();  // it may speak of what it held before
  if (run_.membership->all(NodeStage::closed)) next_view();
}

void ViewChange::next_view() {
  if (!run_.end.keeps_state() && all_leave(run_.membership->nodes()) &&
      ending_.begin_keeping("interrupted", kAllLeave))
    port_.raise(make_event("interrupted", {{"reason", std::string(kAllLeave)}}));
  if (run_.end.keeps_state()) return ending_.last_view();
  NextView next = what_follows_view();
  if (!next.view && turn_away_who_cannot_read()) next = what_follows_view();
  if (!next.view && !run_.membership->nodes().any_loader() && ends_without_loader()) return;
  for (const NodeName& who : next.unfit)
    views_.turn_away(who, "it misses more steps than the others keep for it", true);
  if (!next.view && !next.unfit.empty()) return next_view();  // all who are left may have been asked to leave
  if (!next.view) return pause(next.missing);
  if (const auto look = rollback_.next_look()) return rollback_.make_again_at(*next.view, *look);
  if (!rollback_.waits_for_folder(*next.view, next.lost.has_value())) make_view(next);
  checkpoints_.known->look_anew();
}

void ViewChange::make_view(const NextView& next) {
  run_.lost.clear();
  View view = *next.view;
  if (next.lost || !checkpoints_.suspects.can_be_settled_in(view))
    suspect_checkpoints_.suspect_what_is_doubted(next.lost.has_value());
  if (next.lost) rollback_.give_up_lost_parts(view, *next.lost);
  if (run_.term.taken_over()) return;
  const auto good = checkpoints_.suspects.any()
                        ? checkpoints_.known->good_before(checkpoints_.suspects.from())
                        : std::nullopt;
  const bool is_void = checkpoints_.known->is_passed_over(view.source.checkpoint);
  const ViewStart start =
      decide_start(view, run_.view,
                   {next.lost.has_value(), is_void, checkpoints_.known->last(), checkpoints_.suspects.any(),
                    good, latest_view_taken(run_.membership->nodes())});
  if (start == ViewStart::before_suspects) {
    suspect_checkpoints_.go_back_before_suspects(view, *good);
  } else if (const auto kept = checkpoints_.suspects.clear(); start == ViewStart::keeps_suspects) {
    suspect_checkpoints_.report_kept_suspects(*kept);
    checkpoints_.suspects.forget_before();
  }
  if (reads_checkpoint(view, run_.setup.job.train.in_parts())) rollback_.forget_after(view);
  install(view);
  epoch_reports_.count_open();
}

// Where no round is left those who are there are enough, unless some have to be done again.
NextView ViewChange::what_follows_view() const {
  if (all_is_trained(run_.membership->nodes()) && !checkpoints_.suspects.any() &&
      !checkpoints_.suspects.in_doubt() && !run_.is_going_back()) {
    NextView next = run_.membership->views().next_if_trained(run_.view);
    if (next.view && !next.lost) return next;
  }
  return run_.membership->views().next(run_.view);
}

// Whether the run ends because its last loader is lost.
bool ViewChange::ends_without_loader() {
  const auto& cluster = run_.setup.job.cluster;
  if (cluster.loaders == 0 || cluster.on_loader_loss != OnLoaderLoss::fail) return false;
  const std::string reason = "no loader process is left (cluster.on_loader_loss = \"fail\")";
  if (ending_.begin_keeping("failed", reason)) {
    ending_.last_view();
  } else {
    ending_.fail(reason);
  }
  return true;
}

// Newcomers: who is a member already may be worth a pause.
bool ViewChange::turn_away_who_cannot_read() {
  auto names = run_.membership->views().who_cannot_read(run_.view);
  std::erase_if(names, [this](const NodeName& who) { return run_.view.holds(who); });
  for (const NodeName& who : names) views_.turn_away(who, kCannotRead, true);
  return !names.empty();
}

bool ViewChange::go_on_without_loader() {
  const auto names = run_.membership->views().who_cannot_read(run_.view);
  if (canary("pause-without-loader-ends-run") ||
      !std::ranges::all_of(names, [this](const NodeName& who) { return run_.goes_on_without(who); }))
    return false;
  for (const NodeName& who : names)
    views_.lost(who, "coordinator",
                std::string(kCannotRead) + " within " +
                    std::to_string(run_.setup.job.cluster.give_up_after.count()) +
                    " ms (cluster.give_up_after)",
                false);
  return !names.empty();
}

void ViewChange::let_go_of_held_back() {
  if (may_let_go(run_.membership->nodes()) && run_.phase == CoordinatorPhase::running && !run_.end.decided())
    close_view();
}

// What is missing may come: the state is kept where it is, and newcomers are given it.
void ViewChange::pause(const std::string& missing) {
  if (!run_.membership->transfers().donor()) return end_without_members(missing);
  if (run_.phase == CoordinatorPhase::paused) return views_.feed_newcomers();
  run_.phase = CoordinatorPhase::paused;
  rollback_.stop_waiting();
  const auto now = port_.now();
  run_.recovery.pause(missing, now);
  port_.raise(make_event(
      "paused",
      {{"view", number(run_.view.number)},
       {"waits_for", missing},
       {"give_up_ms", milliseconds(run_.recovery.left(now, run_.setup.job.cluster.give_up_after))}}));
  views_.feed_newcomers();
}

// Newcomers that were given the state keep it.
void ViewChange::end_without_members(const std::string& missing) {
  const bool newcomers_hold_it = run_.membership->views().last_of_run(run_.view).view.has_value();
  const std::string reason =
      newcomers_hold_it
          ? "no replica of the last view is left; newcomers hold its state, and are not enough: " + missing
          : missing;
  if (newcomers_hold_it && ending_.begin_keeping("failed", reason)) return ending_.last_view();
  if (all_leave(run_.membership->nodes())) return end_with_all_who_leave();
  ending_.fail(reason);
}

// Of a run whose replicas were all told to end, but not the launcher or coordinator. There is no folder: else
// one of them has kept the state.
void ViewChange::end_with_all_who_leave() {
  const std::string reason = std::string(kAllLeave) + ", and nothing is kept: checkpoint.folder is not set";
  port_.raise(make_event("interrupted", {{"reason", reason}}));
  ending_.conclude("interrupted", reason);
}

void ViewChange::install(const View& view) {
  const bool in_parts = run_.setup.job.train.in_parts();
  const bool reads = reads_checkpoint(view, in_parts);
  const View dealt = run_.watch->dealt(view);
  if (reads) run_.watch->went_back(dealt.records);
  const View next = complete_view(dealt, {run_.term.number(),
                                          checkpoints_.verdicts.enter(),
                                          run_.watch->dropping(),
                                          {run_.view.doubted_from, run_.view.doubted_to},
                                          checkpoints_.suspects.compared_next(),
                                          checkpoints_.known->last(),
                                          run_.report.steps,
                                          in_parts});
  if (!journal_.noted(next)) return;
  checkpoints_.suspects.made_view();
  if (next.back) checkpoints_.suspects.clear();
  if (reads) run_.membership->begin_again();
  rollback_.enters(next, reads);
  run_.view = next;
  run_.watch->entered(run_.view);
  run_.took_effect = false;
  run_.phase = CoordinatorPhase::installing;
  run_.timers.restart(PhaseTimers::Wait::installing);
  run_.timers.restart(PhaseTimers::Wait::loaders);
  run_.membership->entered(run_.view);
  for (const auto* members : {&run_.view.replicas, &run_.view.loaders}) {
    for (const Member& member : *members) port_.send(member.name, Install{run_.view});
  }
  if (!run_.view.last) let_leavers_go();
}

void ViewChange::let_leavers_go() {
  for (const auto& [who, record] : run_.membership->nodes()) {
    if (record.leaving && !record.held_back && run_.membership->alive(who))
      port_.send(who, Stop{true, "it asked to leave"});
  }
}

void ViewChange::on(const Installed& message) {
  if (message.view != run_.view.number || run_.phase != CoordinatorPhase::installing ||
      run_.gathering.tries_to_begin_anew())
    return;
  run_.membership->installed(message.name);
  if (run_.membership->all(NodeStage::installed)) set_out();
}

void ViewChange::go_on() {
  run_.phase = CoordinatorPhase::running;
  run_.took_effect = false;
  announce_view();
  views_.feed_newcomers();
}

void ViewChange::announce_view() {
  for (const auto& [who, record] : run_.membership->nodes()) {
    if (record.announced || !run_.membership->member(who)) continue;
    run_.membership->announced(who);
    port_.raise(make_event("joined", {{kind(who), number(who.slot)},
                                      {"pid", record.process.pid},
                                      {"device", record.process.device},
                                      {"view", number(run_.view.number)}}));
  }
  port_.raise(make_event("view", {{"view", number(run_.view.number)},
                                  {"members", number(run_.view.replicas.size())},
                                  {"transport", run_.report.transport}}));
}

void ViewChange::set_out() {
  run_.phase = CoordinatorPhase::running;
  run_.watch->begun();
  run_.recovery.end_pause();
  rollback_.folder_can_be_read();
  announce_view();
  if (!std::exchange(run_.begun, true)) run_.training.begin(port_.now());
  for (const auto* members : {&run_.view.replicas, &run_.view.loaders}) {
    for (const Member& member : *members) port_.send(member.name, Begin{run_.view.number});
  }
  views_.feed_newcomers();
  // Who asked to go, or came, or was lost meanwhile.
  const bool changes =
      std::any_of(run_.membership->nodes().begin(), run_.membership->nodes().end(), [&](const auto& node) {
        const auto& [who, record] = node;
        const bool comes = who.loader && record.stage == NodeStage::prepared && record.preparation.tried &&
                           !run_.view.holds(who);
        return comes || (record.leaving && !record.held_back && run_.membership->member(who));
      });
  if (run_.end.keeps_state() ? !run_.view.last : changes) close_view();
}

void ViewChange::makes_step(const Progress& message) {
  report_first_step(message);
  takes_effect();
  let_go_of_held_back();  // not for steps that a member catches up with
}

void ViewChange::report_first_step(const Progress& message) {
  if (run_.phase != CoordinatorPhase::running) return;
  const auto took = run_.recovery.makes_step(port_.now());
  if (!took) return;
  port_.raise(make_event("recovered", {{"view", number(run_.view.number)},
                                       {"step", number(message.step)},
                                       {"after_ms", milliseconds(*took)}}));
}

// A step was made in the view that is in force. Before it all compared the whole of their weights, where one
// was alone and has given its state to the others. Those who have caught up meanwhile were not to interrupt
// it.
void ViewChange::takes_effect() {
  if (run_.view.replicas.size() > 1) run_.membership->weights_compared();
  if (run_.end.decided() || std::exchange(run_.took_effect, true)) return;
  rollback_.all_have_read();
  if (run_.membership->transfers().any_caught_up()) close_view();
}

}  // namespace muster
