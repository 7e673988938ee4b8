// What a node tells of its life, and of who holds it up.
#include <algorithm>

#include "actors/events/event.hpp"
#include "actors/loading/shard.hpp"
#include "actors/messages/peer_numbers.hpp"
#include "actors/node/node.hpp"
#include "actors/rules/nodes/work.hpp"
#include "actors/trainer/trainer_state.hpp"

namespace muster {

// Every heartbeat, from a thread that no computation blocks.
// The data plane is told the time when it has done what it was told before.
std::uint64_t NodeState::still_ms() {
  const auto now = self_->clock().now();
  if (!*plane_ticks_)
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now - plane_told_).count());
  plane_told_ = now;
  *plane_ticks_ = false;
  plane_->post([ticks = plane_ticks_](Engine& engine) {
    *ticks = true;
    engine.tick();
  });
  return 0;
}

// Who waits for others, or for its disk, hangs in nothing.
std::uint64_t NodeState::doing_ms(const ProgressStatus& status) {
  const auto now = self_->clock().now();
  if (std::exchange(busy_with_, status) != status) busy_since_ = now;
  if (!Work{status.activity, {}, 0, {}, {}}.may_hang()) return 0;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now - busy_since_).count());
}

std::uint64_t NodeState::call_ms(const ThreadCall& call) {
  const auto now = self_->clock().now();
  if (std::exchange(call_, call) != call) call_since_ = now;
  if (call.kind == ThreadCall::Kind::none) return 0;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now - call_since_).count());
}

// Time in which this process did not run is nobody's standstill.
void NodeState::skip_own_standstill() {
  const auto now = self_->clock().now();
  const auto before = std::exchange(watched_at_, now);
  const auto gap = now - before;
  if (before == decltype(before){} || gap < job_->cluster.detect.patience) return;
  busy_since_ = std::min(busy_since_ + gap, now);
  call_since_ = std::min(call_since_ + gap, now);
  plane_told_ = std::min(plane_told_ + gap, now);
}

void NodeState::watch() {
  skip_own_standstill();
  const std::uint64_t applied = trainer_ ? trainer_->applied.load() : 0;
  const ProgressStatus status = progress_->status();
  const ThreadCall call = progress_->call();
  self_->send(setup_.coordinator,
              Heartbeat{setup_.name, applied, progress_->measured_step(), progress_->measured_seconds(),
                        still_ms(), static_cast<std::uint32_t>(status.activity), doing_ms(status),
                        static_cast<std::uint32_t>(call.kind), call.shard, call.step, call_ms(call),
                        progress_->samples()});
  if (setup_.name.loader || !view_.loaders.empty()) return;  // a replica says so of its loader
  if (!awake_) awake_.emplace(job_->cluster.detect.heartbeat);
  const auto now = awake_->look(self_->clock().now().time_since_epoch());
  if (auto late = stalls_->of_self(progress_->reported(), view_.number, applied + 1, now))
    self_->send(setup_.coordinator, *late);
}

void NodeState::on(const Stalled& message) {
  auto findings = stalls_->of(message.sight, run_has_begun_);
  for (HeldUp& late : findings.held_up) self_->send(setup_.coordinator, std::move(late));
  for (Failing& complaint : findings.complaints) self_->send(setup_.coordinator, std::move(complaint));
  if (run_has_begun_ && replica_ && view_.number == message.sight.view) run_backup_tasks(message.sight);
}

void NodeState::on(const Starved& message) {
  if (message.sight.view != view_.number) return;
  const NodeName loader = name_of(message.sight.loader.peer);
  auto findings = loader_watch_->of(message.sight, loader, trainer_->applied.load() + 1);
  if (findings.held_up) self_->send(setup_.coordinator, std::move(*findings.held_up));
  if (findings.complaint) self_->send(setup_.coordinator, std::move(*findings.complaint));
  if (findings.ask_again)
    plane_->post([peer = message.sight.loader.peer](Engine& engine) { engine.ask_again(peer); });
}

// The replica waits; it computes what others owe. Their shards are loaded here, too, one micro-batch ahead.
void NodeState::run_backup_tasks(const RoundSight& sight) {
  const RoundScheduleOptions schedule = round_schedule_options(*job_, view_.facts.has_test);
  for (const BackupTask& backup_task : stalls_->backup_tasks(sight, view_.replicas, job_->train.shards)) {
    RunBackupTask message{sight.view, sight.round, backup_task.node, backup_task.begin, backup_task.end, {}};
    for (std::uint32_t number = backup_task.begin; number < backup_task.end; ++number) {
      auto& shard_of = actors_.shards[number];
      if (!shard_of) shard_of = self_->spawn(shard, number, 1u, schedule, actors_.loader, board_->node, 0u);
      message.shards.push_back(caf::actor_cast<caf::strong_actor_ptr>(shard_of));
    }
    plane_->post([board = board_, actors = actors_](Engine&) { board->actors = actors; });
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

// What became of a newcomer that was given the state here, and is a member now.
Event NodeState::state_transferred(const NodeName& donor, const NodeName& newcomer, const Given& given) {
  using Seconds = std::chrono::duration<double>;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const double took_s = Seconds(given.took).count();
  return make_event("state_transferred", {{"replica", static_cast<std::int64_t>(donor.slot)},
                                          {"to", static_cast<std::int64_t>(newcomer.slot)},
                                          {"bytes", static_cast<std::int64_t>(given.bytes)},
                                          {"seconds", took_s},
                                          {"share", took_s > 0 ? Seconds(given.busy).count() / took_s : 0},
                                          {"step_ms_before", Milliseconds(given.step_before).count()},
                                          {"step_ms", Milliseconds(given.step_meanwhile).count()}});
}

}  // namespace muster
