#include "muster/actors/coordinator.hpp"

#include <algorithm>

namespace muster {

namespace {

constexpr auto kTick = std::chrono::milliseconds(50);
// How long nodes may take to let go after a completed run, before the run is over without their last word.
constexpr auto kPartingPatience = std::chrono::seconds(2);

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

const char* kind(const NodeName& name) { return name.loader ? "loader" : "replica"; }

}  // namespace

void CoordinatorState::start(Self self, CoordinatorParts parts) {
  self_ = self;
  parts_ = std::move(parts);
  began_ = self->clock().now();
  roster_ = std::make_unique<Roster>(parts_.job);
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

std::chrono::nanoseconds CoordinatorState::elapsed() const { return self_->clock().now() - began_; }

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
  view_ = roster_->first_view();
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
  if (ending_) return;
  roster_->installed(message.name);
  if (roster_->all(NodeStage::installed)) set_out();
}

void CoordinatorState::set_out() {
  running_ = true;
  for (const auto& [who, record] : roster_->nodes()) {
    const std::string device = who.loader ? "-" : parts_.placement.devices.at(who.slot);
    raise(make_event("joined", {{kind(who), number(who.slot)},
                                {"pid", record.pid},
                                {"device", device},
                                {"view", number(view_.number)}}));
  }
  raise(make_event("view", {{"view", number(view_.number)},
                            {"members", number(view_.replicas.size())},
                            {"transport", report_.transport}}));
  trained_from_ = self_->clock().now();
  tell_all(Begin{view_.number});
}

void CoordinatorState::on(const Progress& message) {
  report_.steps = std::max(report_.steps, message.step);
  report_.samples = std::max(report_.samples, message.samples);
  if (parts_.on_progress) parts_.on_progress(message, view_.facts);
}

// Every replica counts the ledger for itself; they must agree.
void CoordinatorState::on(const EpochEnd& message) {
  auto& rows = epochs_[message.epoch];
  rows[message.slot] = message;
  if (ending_ || rows.size() < parts_.job.cluster.replicas) return;
  for (const auto& [slot, row] : rows) {
    if (row.same_as(message)) continue;
    const std::string what = "the ledger or evaluation of epoch " + std::to_string(message.epoch) + " of replica " +
                             std::to_string(slot) + " and of replica " + std::to_string(message.slot);
    raise(make_event("diverged", {{"what", what}}));
    return fail("diverged: " + what + " differ");
  }
  report_.epochs.push_back(message);
  report_.steps = message.steps;
  report_.samples = message.samples;
  raise(make_event("epoch", {{"epoch", number(message.epoch)},
                             {"complete", message.complete},
                             {"steps", number(message.steps)},
                             {"used", number(message.used)},
                             {"repeated", number(message.repeated)},
                             {"missed", number(message.missed)},
                             {"dropped", number(message.dropped)}}));
  if (message.evaluated) {
    raise(make_event("evaluated",
                     {{"epoch", number(message.epoch)}, {"loss", message.loss}, {"accuracy", message.accuracy}}));
  }
  epochs_.erase(message.epoch);
}

void CoordinatorState::on(const ReplicaDone& message) {
  if (ending_) return;
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
  const ReplicaDone& last = roster_->at({false, 0}).done;
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
  if (message.peer_known) return lost(message.peer, message.name.text(), message.reason);
  fail(message.name.text() + ": " + message.reason);
}

void CoordinatorState::on(const ChildEnded& message) {
  if (ending_) return;
  lost(message.name, "launcher", "process " + std::to_string(message.pid) + " " + message.how);
}

void CoordinatorState::node_down(const caf::actor_addr& address) {
  for (const auto& [who, actor] : actors_) {
    if (actor.address() != address || !roster_->alive(who)) continue;
    if (ending_) {
      roster_->left(who);
      if (report_.completed()) raise(make_event("left", {{kind(who), number(who.slot)}, {"pid", roster_->at(who).pid}}));
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
  fail(who.text() + " was lost at step " + std::to_string(step) + " (shards " + roster_->shards_of(who) +
       "; noticed by " + noticed_by + "): " + reason);
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
  if (const auto silent = roster_->silent(elapsed(), cluster.detect.patience)) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(silent->silence).count();
    return lost(silent->name, "coordinator", "silent for " + std::to_string(ms) + " ms");
  }
  if (!running_ && elapsed() >= cluster.start_patience) {
    raise_late();
    fail("the nodes were not ready within " + std::to_string(cluster.start_patience.count()) +
         " ms (cluster.start_patience); still waiting for " + roster_->behind(roster_->stage_behind()));
  }
}

void CoordinatorState::raise_late() {
  static const std::map<NodeStage, const char*> waited_for = {{NodeStage::joined, "its process to join"},
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
          [=](const Raised& message) { self->state.raise(message.event); },
          [=](const Progress& message) { self->state.on(message); },
          [=](const EpochEnd& message) { self->state.on(message); },
          [=](const ReplicaDone& message) { self->state.on(message); },
          [=](const Heartbeat& message) { self->state.on(message); },
          [=](const Failing& message) { self->state.on(message); },
          [=](const ChildEnded& message) { self->state.on(message); },
          [=](const StopRequest& message) { self->state.on(message); },
          [=](const Tick& message) { self->state.on(message); }};
}

}  // namespace muster
