// What a replica computes for late ones while it waits for them: the same micro-batches, hence the same bits.
// Whichever answer comes first counts. Given up as soon as the round is over.
#include <algorithm>

#include "actors/replica/replica.hpp"

namespace muster {

void ReplicaState::on(const StandIn& message) {
  const bool waits = !halted_ && !updating_ && message.view == part_.view.number && message.round == round_ &&
                     gathering_.phase == Phase::train;
  if (!waits || message.begin >= message.end) return;
  errands_.push_back(message);
  if (errands_.size() == 1) begin_errand();
}

void ReplicaState::begin_errand() {
  const StandIn& errand = errands_.front();
  errand_items_.assign(errand.end - errand.begin, std::nullopt);
  for (const auto& shard : errand.shards) self_->send(caf::actor_cast<shard_actor>(shard), Need{gathering_});
}

// Whether this item is for a shard of the errand, or was.
bool ReplicaState::take_for_errand(const Item& item) {
  const bool own = item.shard >= part_.begin && item.shard < part_.end;
  if (own) return false;
  if (errands_.empty() || item.cursor != gathering_) return true;
  const StandIn& errand = errands_.front();
  if (item.shard < errand.begin || item.shard >= errand.end) return true;
  auto& place = errand_items_[item.shard - errand.begin];
  if (place) return true;
  place = item;
  if (!std::all_of(errand_items_.begin(), errand_items_.end(),
                   [](const auto& each) { return each.has_value(); }))
    return true;
  std::vector<Item> items;
  for (auto& each : errand_items_) items.push_back(std::move(*each));
  compute([items = std::move(items), errand, step = position_->course().steps() + 1,
           turn = turn_](Workbench& bench) {
    const std::shared_ptr<Accumulator> accumulator = make_accumulator(bench, errand.begin, errand.end);
    Computed computed = compute_step(bench, *accumulator, items, step, turn);
    computed.errand = errand.node;
    computed.keep = accumulator;
    return computed;
  });
  return true;
}

void ReplicaState::errand_done(const Computed& message) {
  parts_.bench->progress->now(Activity::reducing);
  if (errands_.empty() || errands_.front().node != message.errand) return;
  for (const NodeValue& value : message.nodes) {
    if (value.node == message.errand)
      self_->send(
          reducer_,
          Contribute{part_.view.number, round_, {value}, message.metrics, message.keep, message.errand});
  }
  errands_.pop_front();
  if (!errands_.empty()) begin_errand();
}

}  // namespace muster
