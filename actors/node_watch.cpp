// What a node tells of its life, and of who holds it up.
#include "muster/actors/node.hpp"
#include "muster/actors/workbench.hpp"

namespace muster {

// Every heartbeat, from a thread that no computation blocks.
void NodeState::watch() {
  const std::uint64_t applied = bench_ ? bench_->applied.load() : 0;
  self_->send(parts_.coordinator,
              Heartbeat{parts_.name, applied, progress_->measured_step(), progress_->measured_seconds()});
  plane_->post([](Engine& engine) { engine.tick(); });
  const auto now = self_->clock().now().time_since_epoch();
  if (auto late = stalls_->of_self(progress_->word(), view_.number, applied + 1, now))
    self_->send(parts_.coordinator, *late);
}

void NodeState::on(const Stalled& message) {
  auto words = stalls_->of(message.sight, was_in_force_);
  for (HeldUp& late : words.held_up) self_->send(parts_.coordinator, std::move(late));
  for (const Failing& complaint : words.complaints) complain(complaint);
}

}  // namespace muster
