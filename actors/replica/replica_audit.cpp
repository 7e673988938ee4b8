// Audits: the gradient of a shard is computed by a second replica, too, and both say its hash with their
// losses, before the step is applied.
#include <algorithm>
#include <set>

#include "actors/replica/replica.hpp"

namespace muster {

// Every member knows the audits of the step by itself. What takes no part in it is not audited.
void ReplicaState::begin_audits(const Cursor& cursor) {
  audits_.clear();
  auditing_.reset();
  own_part_.reset();
  step_begun_ = false;
  const std::uint64_t every = audit_every(parts_.bench->job, part_.view);
  if (cursor.phase != Phase::train || every == 0) return;
  const std::uint64_t step = position_->course().steps() + 1;
  std::set<std::uint32_t> compared = unproven_;
  if (part_.view.doubts(step)) {
    for (const Member& member : part_.view.replicas) compared.insert(member.name.slot);
  }
  audits_ = audits_of(part_.view.replicas, compared, step, every);
  for (Audit& audit : audits_) {
    std::erase_if(audit.shards, [this](std::uint32_t shard) {
      return !position_->course().takes_part(shard) || left_out(shard);
    });
    if (audit.auditor != parts_.slot) continue;
    if (!auditing_) auditing_.emplace();
    auditing_->left.emplace_back(audit.shards.begin(), audit.shards.end());
  }
  if (auditing_) ask_for_audit();
}

// The shard of this replica that another one computes, too.
std::optional<std::uint32_t> ReplicaState::own_audit() const {
  for (const Audit& audit : audits_) {
    if (audit.owner != parts_.slot) continue;
    for (const std::uint32_t shard : audit.shards) {
      if (has_rows(items_[shard - part_.begin])) return shard;
    }
  }
  return std::nullopt;
}

void ReplicaState::ask_for_audit() {
  auto& left = auditing_->left;
  while (!left.empty() && left.front().empty()) left.pop_front();
  if (left.empty()) return contribute_if_audited();
  if (own_part_) parts_.bench->progress->now(Activity::loading);
  self_->send(parts_.node, Borrow{part_.view.number, left.front().front()});
}

// Whether this is the one whose data were asked for.
bool ReplicaState::audits(std::uint32_t shard) const {
  return auditing_ && !halted_ && !auditing_->left.empty() && !auditing_->left.front().empty() &&
         auditing_->left.front().front() == shard;
}

void ReplicaState::on(const Borrowed& message) {
  if (message.view == part_.view.number && audits(message.shard))
    self_->send(caf::actor_cast<shard_actor>(message.actor), Need{gathering_});
}

bool ReplicaState::take_for_audit(const Item& item) {
  const bool own = item.shard >= part_.begin && item.shard < part_.end;
  if (own || !audits(item.shard) || auditing_->item || item.cursor != gathering_) return false;
  if (has_rows(item)) {
    auditing_->item = item;
    audit_if_ready();
  } else {
    auditing_->left.front().pop_front();
    ask_for_audit();
  }
  return true;
}

// Behind its own shards, so that others wait for these no longer than in any step.
void ReplicaState::audit_if_ready() {
  if (!step_begun_ || !auditing_ || !auditing_->item || std::exchange(auditing_->under_way, true)) return;
  const std::size_t buckets =
      bucket_elements(parts_.bench->job, parts_.bench->state.size(), part_.view.replicas.size());
  parts_.bench->progress->now(Activity::computing, auditing_->item->shard);
  compute([item = *auditing_->item, step = position_->course().steps() + 1, buckets](Workbench& bench) {
    return Audited{0, audit_shard(bench, item, step, buckets), {}};
  });
}

void ReplicaState::on(const Audited& message) {
  if (message.turn != turn_ || !auditing_) return;
  if (!message.error.empty()) return model_failed(auditing_->item->shard, message.error);
  auditing_->words.push_back(message.word);
  auditing_->left.pop_front();
  auditing_->item.reset();
  auditing_->under_way = false;
  ask_for_audit();
}

// The own shards are done: their sums go on their way while another one is audited.
void ReplicaState::done_with(std::vector<NodeValue> nodes, std::vector<ShardMetrics> metrics,
                             std::vector<AuditWord> audits) {
  own_part_.emplace(OwnPart{std::move(nodes), std::move(metrics), std::move(audits)});
  const bool waits = auditing_ && !auditing_->left.empty();
  if (waits && !own_part_->nodes.empty())
    self_->send(reducer_, Offer{part_.view.number,
                                round_,
                                own_part_->nodes,
                                {0, reduced_elements(*parts_.bench).step},
                                parts_.bench});
  // Loaders are watched while a replica does nothing but wait for them.
  if (waits && !auditing_->item) parts_.bench->progress->now(Activity::loading);
  audit_if_ready();
  contribute_if_audited();
}

void ReplicaState::contribute_if_audited() {
  if (!own_part_ || (auditing_ && !auditing_->left.empty())) return;
  OwnPart part = *std::exchange(own_part_, std::nullopt);
  if (auditing_) part.audits.insert(part.audits.end(), auditing_->words.begin(), auditing_->words.end());
  auditing_.reset();
  contribute(std::move(part.nodes), std::move(part.metrics), std::move(part.audits));
}

}  // namespace muster
