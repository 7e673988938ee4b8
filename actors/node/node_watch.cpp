// What a node tells of its life, and of who holds it up.
#include <algorithm>

#include "actors/events/event.hpp"
#include "actors/loading/shard.hpp"
#include "actors/messages/peer_numbers.hpp"
#include "actors/node/node.hpp"
#include "actors/rules/membership/hangs.hpp"
#include "actors/trainer/workbench.hpp"

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
std::uint64_t NodeState::doing_ms(const ProgressWord& word) {
  const auto now = self_->clock().now();
  if (std::exchange(busy_with_, word) != word) busy_since_ = now;
  if (!Work{word.activity, {}, 0, {}, {}}.may_hang()) return 0;
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
  const std::uint64_t applied = bench_ ? bench_->applied.load() : 0;
  const ProgressWord word = progress_->word();
  const ThreadCall call = progress_->call();
  self_->send(parts_.coordinator,
              Heartbeat{parts_.name, applied, progress_->measured_step(), progress_->measured_seconds(),
                        still_ms(), static_cast<std::uint32_t>(word.activity), doing_ms(word),
                        static_cast<std::uint32_t>(call.kind), call.shard, call.step, call_ms(call),
                        progress_->samples()});
  if (parts_.name.loader || !view_.loaders.empty()) return;  // a replica says so of its loader
  if (!awake_) awake_.emplace(job_->cluster.detect.heartbeat);
  const auto now = awake_->look(self_->clock().now().time_since_epoch());
  if (auto late = stalls_->of_self(progress_->told(), view_.number, applied + 1, now))
    self_->send(parts_.coordinator, *late);
}

void NodeState::on(const Stalled& message) {
  auto words = stalls_->of(message.sight, run_has_begun_);
  for (HeldUp& late : words.held_up) self_->send(parts_.coordinator, std::move(late));
  for (Failing& complaint : words.complaints) self_->send(parts_.coordinator, std::move(complaint));
  if (run_has_begun_ && replica_ && view_.number == message.sight.view) stand_in(message.sight);
}

void NodeState::on(const Starved& message) {
  if (message.sight.view != view_.number) return;
  const NodeName loader = name_of(message.sight.loader.peer);
  auto words = loader_watch_->of(message.sight, loader, bench_->applied.load() + 1);
  if (words.held_up) self_->send(parts_.coordinator, std::move(*words.held_up));
  if (words.complaint) self_->send(parts_.coordinator, std::move(*words.complaint));
  if (words.ask_again)
    plane_->post([peer = message.sight.loader.peer](Engine& engine) { engine.ask_again(peer); });
}

// The replica waits; it computes what others owe. Their shards are loaded here, too, one micro-batch ahead.
void NodeState::stand_in(const RoundSight& sight) {
  const CourseOptions course = course_options(*job_, view_.facts.has_test);
  for (const Errand& errand : stalls_->errands(sight, view_.replicas, job_->train.shards)) {
    StandIn message{sight.view, sight.round, errand.node, errand.begin, errand.end, {}};
    for (std::uint32_t number = errand.begin; number < errand.end; ++number) {
      auto& shard_of = actors_.shards[number];
      if (!shard_of) shard_of = self_->spawn(shard, number, 1u, course, actors_.loader, board_->node, 0u);
      message.shards.push_back(caf::actor_cast<caf::strong_actor_ptr>(shard_of));
    }
    plane_->post([board = board_, actors = actors_](Engine&) { board->actors = actors; });
    self_->send(replica_, std::move(message));
    self_->send(parts_.coordinator,
                Raised{make_event("speculated", {{"replica", static_cast<std::int64_t>(parts_.name.slot)},
                                                 {"instead_of", static_cast<std::int64_t>(errand.instead_of)},
                                                 {"shards", std::to_string(errand.begin) + "-" +
                                                                std::to_string(errand.end - 1)},
                                                 {"step", static_cast<std::int64_t>(sight.step)}})});
  }
}

// What became of a newcomer that was given the state here, and is a member now.
Event NodeState::handed_over(const NodeName& donor, const NodeName& newcomer, const Given& given) {
  using Seconds = std::chrono::duration<double>;
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const double took_s = Seconds(given.took).count();
  return make_event("handed_over", {{"replica", static_cast<std::int64_t>(donor.slot)},
                                    {"to", static_cast<std::int64_t>(newcomer.slot)},
                                    {"bytes", static_cast<std::int64_t>(given.bytes)},
                                    {"seconds", took_s},
                                    {"share", took_s > 0 ? Seconds(given.busy).count() / took_s : 0},
                                    {"step_ms_before", Milliseconds(given.step_before).count()},
                                    {"step_ms", Milliseconds(given.step_meanwhile).count()}});
}

}  // namespace muster
