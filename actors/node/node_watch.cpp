// What a node tells of its life, and of who holds it up.
#include <utility>

#include "actors/events/event.hpp"
#include "actors/messages/peer_numbers.hpp"
#include "actors/node/node.hpp"
#include "actors/trainer/trainer_state.hpp"

namespace muster {

// Every heartbeat, from a thread that no computation blocks.
void NodeState::watch() {
  const Time now = self_->clock().now();
  activity_.look(now, job_->cluster.detect.patience);
  // The data plane is told the time when it has done what it was told before.
  if (const auto done = activity_.tell_data_plane(now)) {
    plane_->post([done](Engine& engine) {
      *done = true;
      engine.tick();
    });
  }
  const std::uint64_t applied = trainer_ ? trainer_->applied.load() : 0;
  const ProgressStatus status = progress_->status();
  const ThreadCall call = progress_->call();
  self_->send(
      setup_.coordinator,
      Heartbeat{setup_.name, applied, progress_->measured_step(), progress_->measured_seconds(),
                static_cast<std::uint64_t>(activity_.data_plane_stands(now).count()),
                static_cast<std::uint32_t>(status.activity),
                static_cast<std::uint64_t>(activity_.doing(status, now).count()),
                static_cast<std::uint32_t>(call.kind), call.shard, call.step,
                static_cast<std::uint64_t>(activity_.in_call(call, now).count()), progress_->samples()});
  if (setup_.name.loader || !own_.view().loaders.empty()) return;  // a replica says so of its loader
  if (!awake_) awake_.emplace(job_->cluster.detect.heartbeat);
  const auto awake = awake_->look(now.time_since_epoch());
  if (auto late = stalls_->of_self(progress_->reported(), own_.number(), applied + 1, awake))
    self_->send(setup_.coordinator, *late);
}

void NodeState::on(const Stalled& message) {
  auto findings = stalls_->of(message.sight, own_.run_has_begun());
  for (HeldUp& late : findings.held_up) self_->send(setup_.coordinator, std::move(late));
  for (Failing& complaint : findings.complaints) self_->send(setup_.coordinator, std::move(complaint));
  if (own_.run_has_begun() && replica_ && own_.is(message.sight.view)) run_backup_tasks(message.sight);
}

void NodeState::on(const Starved& message) {
  if (!own_.is(message.sight.view)) return;
  const NodeName loader = name_of(message.sight.loader.peer);
  auto findings = loader_watch_->of(message.sight, loader, trainer_->applied.load() + 1);
  if (findings.held_up) self_->send(setup_.coordinator, std::move(*findings.held_up));
  if (findings.complaint) self_->send(setup_.coordinator, std::move(*findings.complaint));
  if (findings.ask_again)
    plane_->post([peer = message.sight.loader.peer](Engine& engine) { engine.ask_again(peer); });
}

// The replica waits; it computes what others owe. Their shards are loaded here, too, one micro-batch ahead.
void NodeState::run_backup_tasks(const RoundSight& sight) {
  for (const BackupTask& backup_task :
       stalls_->backup_tasks(sight, own_.view().replicas, job_->train.shards)) {
    RunBackupTask message{sight.view, sight.round, backup_task.node, backup_task.begin, backup_task.end, {}};
    for (std::uint32_t number = backup_task.begin; number < backup_task.end; ++number) {
      const shard_actor& shard_of = loading_->in_place_of_another(number, own_.view());
      message.shards.push_back(caf::actor_cast<caf::strong_actor_ptr>(shard_of));
    }
    loading_->share_actors();
    self_->send(replica_, std::move(message));
    self_->send(
        setup_.coordinator,
        Raised{make_event("speculated", {{"replica", static_cast<std::int64_t>(setup_.name.slot)},
                                         {"instead_of", static_cast<std::int64_t>(backup_task.instead_of)},
                                         {"shards", std::to_string(backup_task.begin) + "-" +
                                                        std::to_string(backup_task.end - 1)},
                                         {"step", static_cast<std::int64_t>(sight.step)}})});
  }
}

}  // namespace muster
