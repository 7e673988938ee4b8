#include "muster/actors/coordinator.hpp"

#include <algorithm>

namespace muster {

namespace {

constexpr auto kTick = std::chrono::milliseconds(50);
// How long nodes may take to let go after a completed run, before the run is over without their last word.
constexpr auto kPartingPatience = std::chrono::seconds(2);

std::int64_t number(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

const char* kind(const NodeName& name) {
  return name.loader ? "loader" : "replica";
}

}  // namespace

void CoordinatorState::start(Self self, CoordinatorParts parts) {
  self_ = self;
  parts_ = std::move(parts);
  began_ = self->clock().now();
  roster_ = std::make_unique<Roster>(parts_.job);
  watch_ = std::make_unique<ClusterWatch>(parts_.job.cluster, kTick);
  report_.job = parts_.job.name;
  report_.replicas = parts_.job.cluster.replicas;
  report_.shards = parts_.job.train.shards;
  self->set_down_handler([this](const caf::down_msg& down) { node_down(down.source); });
  raise(make_event("started", {{"job", parts_.job.name},
                               {"replicas", number(parts_.job.cluster.replicas)},
                               {"shards", number(parts_.job.train.shards)},
                               {"loaders", number(parts_.job.cluster.loaders)}}));
  for (const Event& event : parts_.first_events) raise(event);
  self->delayed_send(self, kTick, Tick{});
}

std::chrono::nanoseconds CoordinatorState::elapsed() const {
  return self_->clock().now() - began_;
}

void CoordinatorState::raise(Event event) {
  event.time_ms = std::chrono::duration<double, std::milli>(elapsed()).count();
  report_.add(event);
  if (parts_.on_event) parts_.on_event(event);
  for (const observer_actor& observer : parts_.observers) self_->send(observer, event);
}

template <class Message>
void CoordinatorState::tell_all(const Message& message) {
  for (const auto& [who, actor] : actors_) {
    if (roster_->alive(who)) self_->send(actor, message);
  }
}

void CoordinatorState::on(const Join& message) {
  const auto actor = caf::actor_cast<node_actor>(self_->current_sender());
  const std::string refusal = ending_ ? std::string("the run has ended") : roster_->join(message, elapsed());
  if (!refusal.empty()) {
    raise(make_event("refused", {{kind(message.name), number(message.name.slot)}, {"reason", refusal}}));
    self_->send(actor, Stop{false, refusal});
    return;
  }
  actors_[message.name] = actor;
  self_->monitor(actor);
  Welcome welcome;
  welcome.job_toml = parts_.job_toml;
  welcome.device = message.name.loader ? "-" : parts_.placement.devices.at(message.name.slot);
  welcome.loader_thread = parts_.placement.loader_threads > 0 && parts_.job.cluster.loaders == 0;
  self_->send(actor, welcome);
}

void CoordinatorState::on(const Prepared& message) {
  if (ending_) return;
  if (const std::string reason = roster_->prepared(message); !reason.empty()) return fail(reason);
  if (!roster_->all(NodeStage::prepared)) return;
  view_ = watch_->entered(roster_->first_view());
  roster_->entered(view_);
  report_.transport = message.transport;
  report_.ledger_unit = view_.facts.unit_is_batch ? "batch" : "sample";
  if (view_.facts.take_asked >= 0) {
    raise(make_event("exhausted", {{"scope", "job"},
                                   {"what", "data.take"},
                                   {"asked", view_.facts.take_asked},
                                   {"had", view_.facts.take_had}}));
  }
  tell_all(Install{view_});
}

void CoordinatorState::on(const Installed& message) {
  if (ending_ || closing_ || message.view != view_.number || !roster_->alive(message.name)) return;
  roster_->installed(message.name);
  if (roster_->all(NodeStage::installed)) set_out();
}

void CoordinatorState::set_out() {
  const bool first = !std::exchange(running_, true);
  for (const auto& [who, record] : roster_->nodes()) {
    if (!first) break;  // who goes on has joined before
    const std::string device = who.loader ? "-" : parts_.placement.devices.at(who.slot);
    raise(make_event("joined", {{kind(who), number(who.slot)},
                                {"pid", record.pid},
                                {"device", device},
                                {"view", number(view_.number)}}));
  }
  raise(make_event("view", {{"view", number(view_.number)},
                            {"members", number(view_.replicas.size())},
                            {"transport", report_.transport}}));
  if (first) trained_from_ = self_->clock().now();
  tell_all(Begin{view_.number});
}

void CoordinatorState::on(const Progress& message) {
  report_.steps = std::max(report_.steps, message.step);
  report_.samples = std::max(report_.samples, message.samples);
  if (parts_.on_progress) parts_.on_progress(message, view_.facts);
}

// Every replica counts the ledger for itself; they must agree.
void CoordinatorState::on(const EpochEnd& message) {
  if (ending_ || counted_.count(message.epoch) > 0) return;
  auto& rows = epochs_[message.epoch];
  rows[message.slot] = message;
  for (const auto& [slot, row] : rows) {
    if (row.same_as(message)) continue;
    const std::string what = "the ledger or evaluation of epoch " + std::to_string(message.epoch) +
                             " of replica " + std::to_string(slot) + " and of replica " +
                             std::to_string(message.slot);
    raise(make_event("diverged", {{"what", what}}));
    return fail("diverged: " + what + " differ");
  }
  count_epoch(message.epoch);
}

// An epoch is counted when every member of the view has told of it.
void CoordinatorState::count_epoch(std::uint64_t epoch) {
  const auto& rows = epochs_[epoch];
  for (const Member& member : view_.replicas) {
    if (roster_->alive(member.name) && rows.count(member.name.slot) == 0) return;
  }
  if (rows.empty() || !counted_.insert(epoch).second) return;
  const EpochEnd row = rows.begin()->second;
  epochs_.erase(epoch);
  report_.epochs.push_back(row);
  report_.steps = row.steps;
  report_.samples = row.samples;
  raise(make_event("epoch", {{"epoch", number(row.epoch)},
                             {"complete", row.complete},
                             {"steps", number(row.steps)},
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
  if (ending_ || closing_ || !roster_->alive({false, message.slot})) return;
  if (const std::string reason = roster_->done(message); !reason.empty()) {
    raise(make_event("diverged", {{"what", reason}}));
    return fail("diverged: " + reason);
  }
  report_.phases[message.slot] = message.phases;
  if (!message.note.empty()) report_.notes[message.slot] = message.note;
  if (!message.checkpoint.empty()) report_.checkpoint = message.checkpoint;
  trained_to_ = self_->clock().now();
  if (roster_->all(NodeStage::done, true)) complete();
}

void CoordinatorState::complete() {
  const ReplicaDone& last = roster_->at(view_.replicas.front().name).done;
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

void CoordinatorState::on(const Failing& message) {
  if (ending_) return;
  if (message.peer_known) {
    // A complaint of an older view, or about one who is known to be gone, says nothing new.
    if (message.view == view_.number && roster_->alive(message.peer)) watch_->complained(message, elapsed());
    return;
  }
  if (!roster_->alive(message.name)) return;
  fail(message.name.text() + ": " + message.reason);
}

void CoordinatorState::on(const ChildEnded& message) {
  if (ending_ || roster_->at(message.name).stage == NodeStage::lost) return;
  lost(message.name, "launcher", "process " + std::to_string(message.pid) + " " + message.how);
}

void CoordinatorState::node_down(const caf::actor_addr& address) {
  for (const auto& [who, actor] : actors_) {
    if (actor.address() != address || !roster_->alive(who)) continue;
    if (ending_) {
      roster_->left(who);
      if (report_.completed())
        raise(make_event("left", {{kind(who), number(who.slot)}, {"pid", roster_->at(who).pid}}));
      if (roster_->none_alive()) finish();
    } else {
      lost(who, "coordinator", "its connection is closed");
    }
    return;
  }
}

void CoordinatorState::lost(const NodeName& who, const std::string& noticed_by, const std::string& reason) {
  const std::uint64_t step = std::max(report_.steps, roster_->at(who).last_step) + 1;
  roster_->lost(who);
  raise(make_event("lost", {{kind(who), number(who.slot)},
                            {"shards", roster_->shards_of(who)},
                            {"step", number(step)},
                            {"noticed_by", noticed_by},
                            {"reason", reason}}));
  const auto& cluster = parts_.job.cluster;
  const bool can_go_on = cluster.on_loss == OnLoss::go_on && running_ && !who.loader &&
                         roster_->replicas_left() >= std::max(cluster.min_replicas, 1u);
  if (can_go_on) {
    if (const auto actor = actors_.find(who); actor != actors_.end()) {
      self_->send(actor->second, Stop{false, "evicted: " + reason});  // in case it lives after all
    }
    lost_.push_back(who);
    return close_view();
  }
  fail(who.text() + " was lost at step " + std::to_string(step) + " (shards " + roster_->shards_of(who) +
       "; noticed by " + noticed_by + "): " + reason);
}

// One authority, one view at a time: all who are left close this one, then the next is made of what they
// hold.
void CoordinatorState::close_view() {
  closing_ = true;
  for (const auto& [who, record] : roster_->nodes()) {
    if (roster_->alive(who)) self_->send(actors_.at(who), Close{view_.number, lost_});
  }
}

void CoordinatorState::on(const Closed& message) {
  if (ending_ || !closing_ || message.view != view_.number || !roster_->alive(message.name)) return;
  roster_->closed(message);
  if (roster_->all(NodeStage::closed)) install_next_view();
}

void CoordinatorState::install_next_view() {
  closing_ = false;
  lost_.clear();
  view_ = watch_->entered(roster_->next_view(view_));
  roster_->entered(view_);
  tell_all(Install{view_});
  for (const auto& [epoch, rows] : std::map(epochs_))
    count_epoch(epoch);  // those that only the lost had not told of
}

void CoordinatorState::on(const StopRequest& message) {
  if (ending_) return;
  raise(make_event("interrupted", {{"reason", message.reason}}));
  conclude("interrupted", message.reason);
}

void CoordinatorState::on(const Tick& message) {
  if (finished_) return;
  self_->delayed_send(self_, kTick, message);
  if (ending_) {
    if (self_->clock().now() - ended_ >= kPartingPatience) finish();
    return;
  }
  const auto& cluster = parts_.job.cluster;
  if (judge()) return;
  if (!running_ && elapsed() >= cluster.start_patience) {
    raise_late();
    fail("the nodes were not ready within " + std::to_string(cluster.start_patience.count()) +
         " ms (cluster.start_patience); still waiting for " + roster_->behind(roster_->stage_behind()));
  }
}

void CoordinatorState::raise_late() {
  static const std::map<NodeStage, const char*> waited_for = {
      {NodeStage::joined, "its process to join"},
      {NodeStage::prepared, "its data and model to be ready"},
      {NodeStage::installed, "its greeting by all members"}};
  const NodeStage stage = roster_->stage_behind();
  for (const auto& [who, record] : roster_->nodes()) {
    if (record.stage >= stage) continue;
    raise(make_event("late", {{kind(who), number(who.slot)},
                              {"waited_for", std::string(waited_for.at(stage))},
                              {"waited_ms", std::chrono::duration<double, std::milli>(elapsed()).count()}}));
  }
}

void CoordinatorState::fail(const std::string& reason) {
  if (ending_) return;
  raise(make_event("failed", {{"reason", reason}}));
  conclude("failed", reason);
}

void CoordinatorState::conclude(const std::string& outcome, const std::string& reason) {
  ending_ = true;
  ended_ = self_->clock().now();
  report_.outcome = outcome;
  report_.reason = reason;
  tell_all(Stop{outcome == "completed", reason});
  // After a failure nobody is waited for: the launcher ends by force what does not end by itself.
  if (outcome != "completed" || roster_->none_alive()) finish();
}

void CoordinatorState::finish() {
  if (std::exchange(finished_, true)) return;
  if (report_.completed()) raise(make_event("completed", {{"steps", number(report_.steps)}}));
  report_.wall_seconds = std::chrono::duration<double>(elapsed()).count();
  double evaluating = 0;
  for (const auto& [slot, phases] : report_.phases) evaluating = std::max(evaluating, phases.evaluate_s);
  if (running_ && trained_to_ > trained_from_) {
    report_.train_seconds = std::chrono::duration<double>(trained_to_ - trained_from_).count() - evaluating;
    if (report_.train_seconds > 0) {
      report_.samples_per_second = static_cast<double>(report_.samples) / report_.train_seconds;
    }
  }
  if (parts_.on_end) parts_.on_end(report_);
}

coordinator_actor::behavior_type coordinator(CoordinatorState::Self self, CoordinatorParts parts) {
  self->state.start(self, std::move(parts));
  return {[=](const Join& message) { self->state.on(message); },
          [=](const Prepared& message) { self->state.on(message); },
          [=](const Installed& message) { self->state.on(message); },
          [=](const Closed& message) { self->state.on(message); },
          [=](const Raised& message) { self->state.raise(message.event); },
          [=](const Progress& message) { self->state.on(message); },
          [=](const EpochEnd& message) { self->state.on(message); },
          [=](const ReplicaDone& message) { self->state.on(message); },
          [=](const Heartbeat& message) { self->state.on(message); },
          [=](const HeldUp& message) { self->state.on(message); },
          [=](const Failing& message) { self->state.on(message); },
          [=](const ChildEnded& message) { self->state.on(message); },
          [=](const StopRequest& message) { self->state.on(message); },
          [=](const Tick& message) { self->state.on(message); }};
}

}  // namespace muster
