// How the coordinator makes views: who is lost, who goes, and what follows.
#include <algorithm>

#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

constexpr const char* kAllLeave = "every replica was asked to leave";

// Until members that close a view are told of others that were lost meanwhile.
constexpr auto kCloseAgain = std::chrono::milliseconds(5);

}  // namespace

// ---- who is lost, who goes

bool CoordinatorState::goes_on_without(const NodeName& who) const {
  const bool of_the_view =
      membership_->member(who) && view_.holds(who);  // a newcomer may close it with the others
  return (begun_ || comes_later(who)) &&
         (end_.keeps_state() || !of_the_view || setup_.job.cluster.on_loss == OnLoss::go_on);
}

// The first view is made, and does not hold it: it was not ready. It comes as a newcomer.
bool CoordinatorState::comes_later(const NodeName& who) const {
  const View& made = phase_ == CoordinatorPhase::noting ? pending_.view() : view_;
  return !begun_ && made.number > 0 && !made.holds(who);
}

void CoordinatorState::lost(const NodeName& who, const std::string& noticed_by, const std::string& reason,
                            bool again) {
  const std::uint64_t step = steps_done() + 1;
  const bool goes_on = goes_on_without(who);
  const bool member = membership_->member(who);
  const std::string shards = membership_->views().shards_of(who);
  membership_->lost(who);
  if (!who.loader) epochs_.forget(who.slot);  // others may do its steps again, with other gradients
  raise(make_event("lost", {{kind(who), number(who.slot)},
                            {"shards", shards},
                            {"step", number(step)},
                            {"noticed_by", noticed_by},
                            {"reason", reason}}));
  if (!begun_ && setup_.by_hand && !comes_later(who)) return lost_before_begin(who, reason, again);
  if (!goes_on) {
    return fail(who.text() + " was lost at step " + std::to_string(step) + " (shards " + shards +
                "; noticed by " + noticed_by + "): " + reason);
  }
  if (const auto actor = actors_.find(who); actor != actors_.end()) {
    // In case it lives after all.
    self_->send(actor->second, Stop{false, kEvicted + reason, again, false, suspects_.from()});
  }
  if (!member) return end_donation(who);
  recovery_.loses(self_->clock().now());
  lost_.push_back(who);
  if (phase_ != CoordinatorPhase::adopting) return close_view();
  // Some who are back may have been asked to leave meanwhile: they keep the state, or give it to others.
  const bool any_member = std::ranges::any_of(membership_->nodes(), [this](const auto& node) {
    return !node.first.loader && view_.holds(node.first) && membership_->member(node.first);
  });
  if (!any_member && !end_.keeps_state()) return none_came_back();
  if (membership_->all(NodeStage::installed)) adopted_all();
}

void CoordinatorState::on(const Leaving& message) {
  if (end_.decided() || !membership_->alive(message.name)) return;
  if (!begun_ && !comes_later(message.name)) {
    if (setup_.by_hand) self_->send(actors_.at(message.name), Stop{true, message.reason});
    return lost(message.name, message.name.text(), message.reason);
  }
  membership_->leaving(message.name);
  if (end_.keeps_state()) return;  // it goes when the state is kept
  if (!membership_->member(message.name)) {
    self_->send(actors_.at(message.name), Stop{true, message.reason});
  } else if (phase_ == CoordinatorPhase::running || phase_ == CoordinatorPhase::paused) {
    close_view();
  } else if (phase_ == CoordinatorPhase::noting && !gathering_.tries_to_begin_anew() &&
             all_leave(membership_->nodes()) && !canary("leavers-wait-for-journal")) {
    next_view();  // the last one needs no journal
  }
}

// ---- from one view to the next

// One authority, one view at a time: all who are left close this one, then the next is made of what they
// hold.
void CoordinatorState::close_view() {
  if (phase_ != CoordinatorPhase::closing) {
    phase_ = CoordinatorPhase::closing;
    timers_.restart(PhaseTimers::Wait::closing);
    timers_.restart(PhaseTimers::Wait::loaders);
    membership_->begin_close();
    ask_to_close();
  } else if (!std::exchange(close_again_, true)) {
    // Many may be lost at once; those who still wait for one of them are told of all together.
    self_->delayed_send(self_, kCloseAgain, Tick{true});
  }
  if (!gathering_.tries_to_begin_anew() && membership_->all(NodeStage::closed))
    next_view();  // nobody is left to wait for
}

void CoordinatorState::ask_to_close() {
  close_again_ = false;
  if (end_.decided() || phase_ != CoordinatorPhase::closing) return;
  for (const NodeName& who : not_closed(membership_->nodes()))
    self_->send(actors_.at(who), Close{term_.number(), membership_->at(who).view.number, lost_});
}

void CoordinatorState::on(const Closed& message) {
  if (end_.decided() || phase_ != CoordinatorPhase::closing || gathering_.tries_to_begin_anew() ||
      !membership_->alive(message.name) || message.view != membership_->at(message.name).view.number)
    return;
  membership_->closed(message);
  if (!message.name.loader) {
    report_.phases[message.name.slot] = message.phases;
    report_.traffic[message.name.slot] = message.traffic;
  }
  if (message.took == view_.number) {  // told of no step: it was the last one, or none is left
    took_effect_ = true;
    mounts_.end();
  }
  if (is_going_back()) membership_->begin_again();  // it may speak of what it held before
  if (membership_->all(NodeStage::closed)) next_view();
}

void CoordinatorState::next_view() {
  if (!end_.keeps_state() && all_leave(membership_->nodes()) && begin_keeping("interrupted", kAllLeave))
    raise(make_event("interrupted", {{"reason", std::string(kAllLeave)}}));
  if (end_.keeps_state()) return last_view();
  const NextView next = what_follows_view();
  if (!next.view && !membership_->nodes().any_loader() && ends_without_loader()) return;
  for (const NodeName& who : next.unfit)
    turn_away(who, "it misses more steps than the others keep for it", true);
  if (!next.view && !next.unfit.empty()) return next_view();  // all who are left may have been asked to leave
  if (!next.view) return pause(next.missing);
  if (const auto look = mounts_.next_look(self_->clock().now())) return make_again_at(*next.view, *look);
  if (!waits_for_folder(*next.view, next.lost.has_value())) make_view(next);
  checkpoints_->look_anew();
}

void CoordinatorState::make_view(const NextView& next) {
  lost_.clear();
  View view = *next.view;
  if (next.lost || !suspects_.can_be_settled_in(view)) suspect_what_is_doubted(next.lost.has_value());
  if (next.lost) give_up_lost_parts(view, *next.lost);
  if (term_.taken_over()) return;
  const auto good = suspects_.any() ? checkpoints_->good_before(suspects_.from()) : std::nullopt;
  const bool is_void = checkpoints_->is_passed_over(view.source.checkpoint);
  const ViewStart start = decide_start(view, view_,
                                       {next.lost.has_value(), is_void, checkpoints_->last(), suspects_.any(),
                                        good, latest_view_taken(membership_->nodes())});
  if (start == ViewStart::before_suspects) {
    go_back_before_suspects(view, *good);
  } else if (const auto kept = suspects_.clear(); start == ViewStart::keeps_suspects) {
    report_kept_suspects(*kept);
    suspects_.forget_before();
  }
  if (reads_checkpoint(view, setup_.job.train.in_parts())) forget_after(view);
  install(view);
  for (const std::uint64_t epoch : epochs_.open())
    count_epoch(epoch);  // those that only the lost had not told of
}

// Where no round is left those who are there are enough, unless some have to be done again.
NextView CoordinatorState::what_follows_view() const {
  if (all_is_trained(membership_->nodes()) && !suspects_.any() && !suspects_.in_doubt() && !is_going_back()) {
    NextView next = membership_->views().next_if_trained(view_);
    if (next.view && !next.lost) return next;
  }
  return membership_->views().next(view_);
}

// Whether the run ends because its last loader is lost.
bool CoordinatorState::ends_without_loader() {
  const auto& cluster = setup_.job.cluster;
  if (cluster.loaders == 0 || cluster.on_loader_loss != OnLoaderLoss::fail) return false;
  const std::string reason = "no loader process is left (cluster.on_loader_loss = \"fail\")";
  if (begin_keeping("failed", reason)) {
    last_view();
  } else {
    fail(reason);
  }
  return true;
}

// The optimiser's parts are dealt anew once a step is done; those who wanted to leave can.
void CoordinatorState::let_go_of_held_back() {
  if (may_let_go(membership_->nodes()) && phase_ == CoordinatorPhase::running && !end_.decided())
    close_view();
}

// What is missing may come: the state is kept where it is, and newcomers are given it.
void CoordinatorState::pause(const std::string& missing) {
  if (!membership_->transfers().donor()) return end_without_members(missing);
  if (phase_ == CoordinatorPhase::paused) return feed_newcomers();
  phase_ = CoordinatorPhase::paused;
  folder_wait_.end();
  mounts_.end();
  const auto now = self_->clock().now();
  recovery_.pause(missing, now);
  raise(make_event("paused",
                   {{"view", number(view_.number)},
                    {"waits_for", missing},
                    {"give_up_ms", milliseconds(recovery_.left(now, setup_.job.cluster.give_up_after))}}));
  feed_newcomers();
}

// Newcomers that were given the state keep it.
void CoordinatorState::end_without_members(const std::string& missing) {
  if (!membership_->views().last_of_run(view_).view) return fail(missing);
  const std::string reason =
      "no replica of the last view is left; newcomers hold its state, and are not enough: " + missing;
  begin_keeping("failed", reason) ? last_view() : fail(reason);
}

void CoordinatorState::install(const View& view) {
  const bool in_parts = setup_.job.train.in_parts();
  const bool reads = reads_checkpoint(view, in_parts);
  const View dealt = watch_->dealt(view);
  if (reads) watch_->went_back(dealt.records);
  const View next = complete_view(dealt, {term_.number(),
                                          verdicts_.enter(),
                                          watch_->dropping(),
                                          {view_.doubted_from, view_.doubted_to},
                                          suspects_.compared_next(),
                                          checkpoints_->last(),
                                          report_.steps,
                                          in_parts});
  if (!noted(next)) return;
  suspects_.made_view();
  if (next.back) suspects_.clear();
  if (reads) membership_->begin_again();
  if (!reads || next.source.checkpoint != view_.source.checkpoint) mounts_.end();
  view_ = next;
  watch_->entered(view_);
  going_back_.entered();
  took_effect_ = false;
  timers_.restart(PhaseTimers::Wait::going_back);
  timers_.restart(PhaseTimers::Wait::reading);
  goes_further_ = false;
  phase_ = CoordinatorPhase::installing;
  timers_.restart(PhaseTimers::Wait::installing);
  timers_.restart(PhaseTimers::Wait::loaders);
  membership_->entered(view_);
  for (const auto* members : {&view_.replicas, &view_.loaders}) {
    for (const Member& member : *members) self_->send(actors_.at(member.name), Install{view_});
  }
  if (!view_.last) let_leavers_go();
}

void CoordinatorState::let_leavers_go() {
  for (const auto& [who, record] : membership_->nodes()) {
    if (record.leaving && !record.held_back && membership_->alive(who))
      self_->send(actors_.at(who), Stop{true, "it asked to leave"});
  }
}

void CoordinatorState::on(const Installed& message) {
  if (end_.decided()) return;
  if (membership_->alive(message.name) && membership_->transfers().has_donor(message.name, message.view))
    return newcomer_ready(message.name);
  if (message.view != view_.number || phase_ != CoordinatorPhase::installing ||
      gathering_.tries_to_begin_anew())
    return;
  membership_->installed(message.name);
  if (membership_->all(NodeStage::installed)) set_out();
}

void CoordinatorState::announce_view() {
  for (const auto& [who, record] : membership_->nodes()) {
    if (record.announced || !membership_->member(who)) continue;
    membership_->announced(who);
    raise(make_event("joined", {{kind(who), number(who.slot)},
                                {"pid", record.process.pid},
                                {"device", record.process.device},
                                {"view", number(view_.number)}}));
  }
  raise(make_event("view", {{"view", number(view_.number)},
                            {"members", number(view_.replicas.size())},
                            {"transport", report_.transport}}));
}

void CoordinatorState::set_out() {
  phase_ = CoordinatorPhase::running;
  watch_->begun();
  recovery_.end_pause();
  folder_wait_.end();
  announce_view();
  if (!std::exchange(begun_, true)) training_.begin(self_->clock().now());
  for (const auto* members : {&view_.replicas, &view_.loaders}) {
    for (const Member& member : *members) self_->send(actors_.at(member.name), Begin{view_.number});
  }
  feed_newcomers();
  // Who asked to go, or came, or was lost meanwhile.
  const bool changes =
      std::any_of(membership_->nodes().begin(), membership_->nodes().end(), [&](const auto& node) {
        const auto& [who, record] = node;
        const bool comes = who.loader && record.stage == NodeStage::prepared && record.preparation.tried &&
                           !view_.holds(who);
        return comes || (record.leaving && !record.held_back && membership_->member(who));
      });
  if (end_.keeps_state() ? !view_.last : changes) close_view();
}

void CoordinatorState::report_first_step(const Progress& message) {
  if (phase_ != CoordinatorPhase::running) return;
  const auto took = recovery_.makes_step(self_->clock().now());
  if (!took) return;
  raise(make_event(
      "recovered",
      {{"view", number(view_.number)}, {"step", number(message.step)}, {"after_ms", milliseconds(*took)}}));
}

}  // namespace muster
