#include "actors/replica/duties/audits.hpp"

#include <utility>

#include "actors/replica/context/own_round.hpp"

namespace muster {

// Every member knows the audits of the step by itself. What takes no part in it is not audited.
void Audits::begin(const Cursor& cursor) {
  std::vector<Audit> audits;
  const View& view = context_.view();
  const std::uint64_t every = audit_every(context_.job(), view);
  if (cursor.mode == Mode::train && every > 0) {
    const RoundSchedule& schedule = context_.schedule();
    const std::uint64_t step = schedule.steps() + 1;
    audits = audits_of(view.replicas, proof_.to_compare(step), step, every);
    for (Audit& audit : audits)
      std::erase_if(audit.shards, [&](std::uint32_t shard) {
        return !schedule.takes_part(shard) || left_out(view, *context_.position, shard);
      });
  }
  round_.begin(std::move(audits), context_.setup.slot);
  if (round_.is_open()) ask();
}

std::optional<std::uint32_t> Audits::audited_here() const {
  for (const Audit& audit : round_.audits()) {
    if (audit.owner != context_.setup.slot) continue;
    for (const std::uint32_t shard : audit.shards) {
      if (has_rows(batches_.of(shard))) return shard;
    }
  }
  return std::nullopt;
}

void Audits::ask() {
  const auto shard = round_.next();
  if (!shard) return contribute_if_complete();
  if (round_.own()) context_.show(Activity::loading);
  context_.port->to_node(AuditShardRequest{context_.view().number, *shard});
}

void Audits::on(const AuditShardReply& message) {
  if (message.view == context_.view().number && !context_.phase.is_halted() && round_.asks_for(message.shard))
    context_.port->to_shard(message.actor, Need{batches_.cursor()});
}

bool Audits::take(const Item& item) {
  if (batches_.holds(item.shard) || context_.phase.is_halted() || !round_.asks_for(item.shard)) return false;
  if (round_.has_item() || item.cursor != batches_.cursor()) return false;
  round_.take(item);
  round_.has_item() ? compute_if_ready() : ask();
  return true;
}

// Behind its own shards, so that others wait for these no longer than in any step.
void Audits::compute_if_ready() {
  const auto item = round_.start();
  if (!item) return;
  const std::size_t buckets =
      bucket_elements(context_.job(), context_.trainer().state.size(), context_.view().replicas.size());
  context_.show(Activity::computing, item->shard);
  context_.compute([item = *item, step = context_.schedule().steps() + 1, buckets](TrainerState& trainer) {
    return Audited{0, audit_shard(trainer, item, step, buckets), {}};
  });
}

void Audits::on(const Audited& message) {
  if (message.turn != context_.turn || !round_.has_item()) return;
  if (!message.error.empty()) return model_failed(context_, batches_.cursor(), round_.shard(), message.error);
  round_.computed(message.report);
  ask();
}

// The own sums go on their way while another shard is audited.
void Audits::own_done(AuditRound::Part part) {
  round_.own_done(std::move(part));
  const bool waits = round_.is_open();
  if (const auto& nodes = round_.own()->nodes; waits && !nodes.empty())
    context_.port->to_reducer(Offer{context_.view().number,
                                    context_.round,
                                    nodes,
                                    {0, reduced_elements(context_.trainer()).step},
                                    context_.setup.trainer});
  // Loaders are watched while a replica does nothing but wait for them.
  if (waits && !round_.has_item()) context_.show(Activity::loading);
  compute_if_ready();
  contribute_if_complete();
}

void Audits::contribute_if_complete() {
  if (auto part = round_.complete()) contribute(context_, std::move(*part));
}

void Audits::prove(const RoundRecord& record) {
  if (proof_.count(record, round_.audits()))
    context_.port->to_node(Compared{context_.view().number, proof_.clean()});
}

}  // namespace muster
