// Audits: the gradient of a shard is computed by a second replica, too, and both say its hash with their
// losses, before the step is applied.
#include <algorithm>
#include <set>

#include "actors/replica/replica.hpp"

namespace muster {

// Every member knows the audits of the step by itself. What takes no part in it is not audited.
void ReplicaState::begin_audits(const Cursor& cursor) {
  std::vector<Audit> audits;
  const std::uint64_t every = audit_every(setup_.trainer->job, assignment_.view);
  if (cursor.mode == Mode::train && every > 0) {
    const RoundSchedule& schedule = position_->schedule();
    const std::uint64_t step = schedule.steps() + 1;
    audits = audits_of(assignment_.view.replicas, proof_.to_compare(step), step, every);
    for (Audit& audit : audits)
      std::erase_if(audit.shards,
                    [&](std::uint32_t shard) { return !schedule.takes_part(shard) || left_out(shard); });
  }
  audit_round_.begin(std::move(audits), setup_.slot);
  if (audit_round_.is_open()) ask_for_audit();
}

// The shard of this replica that another one computes, too.
std::optional<std::uint32_t> ReplicaState::own_audit() const {
  for (const Audit& audit : audit_round_.audits()) {
    if (audit.owner != setup_.slot) continue;
    for (const std::uint32_t shard : audit.shards) {
      if (has_rows(batches_.of(shard))) return shard;
    }
  }
  return std::nullopt;
}

void ReplicaState::ask_for_audit() {
  const auto shard = audit_round_.next();
  if (!shard) return contribute_if_audited();
  if (audit_round_.own()) setup_.trainer->progress->now(Activity::loading);
  self_->send(setup_.node, AuditShardRequest{assignment_.view.number, *shard});
}

void ReplicaState::on(const AuditShardReply& message) {
  if (message.view == assignment_.view.number && !phase_.is_halted() && audit_round_.asks_for(message.shard))
    self_->send(caf::actor_cast<shard_actor>(message.actor), Need{batches_.cursor()});
}

bool ReplicaState::take_for_audit(const Item& item) {
  if (batches_.holds(item.shard) || phase_.is_halted() || !audit_round_.asks_for(item.shard)) return false;
  if (audit_round_.has_item() || item.cursor != batches_.cursor()) return false;
  audit_round_.take(item);
  audit_round_.has_item() ? audit_if_ready() : ask_for_audit();
  return true;
}

// Behind its own shards, so that others wait for these no longer than in any step.
void ReplicaState::audit_if_ready() {
  const auto item = audit_round_.start();
  if (!item) return;
  const std::size_t buckets =
      bucket_elements(setup_.trainer->job, setup_.trainer->state.size(), assignment_.view.replicas.size());
  setup_.trainer->progress->now(Activity::computing, item->shard);
  compute([item = *item, step = position_->schedule().steps() + 1, buckets](TrainerState& trainer) {
    return Audited{0, audit_shard(trainer, item, step, buckets), {}};
  });
}

void ReplicaState::on(const Audited& message) {
  if (message.turn != turn_ || !audit_round_.has_item()) return;
  if (!message.error.empty()) return model_failed(audit_round_.shard(), message.error);
  audit_round_.computed(message.report);
  ask_for_audit();
}

// The own shards are done: their sums go on their way while another one is audited.
void ReplicaState::done_with(AuditRound::Part part) {
  audit_round_.own_done(std::move(part));
  const bool waits = audit_round_.is_open();
  if (const auto& nodes = audit_round_.own()->nodes; waits && !nodes.empty())
    self_->send(reducer_, Offer{assignment_.view.number,
                                round_,
                                nodes,
                                {0, reduced_elements(*setup_.trainer).step},
                                setup_.trainer});
  // Loaders are watched while a replica does nothing but wait for them.
  if (waits && !audit_round_.has_item()) setup_.trainer->progress->now(Activity::loading);
  audit_if_ready();
  contribute_if_audited();
}

void ReplicaState::contribute_if_audited() {
  auto part = audit_round_.complete();
  if (part) contribute(std::move(part->nodes), std::move(part->metrics), std::move(part->audits));
}

}  // namespace muster
