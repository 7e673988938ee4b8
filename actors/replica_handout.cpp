// What a replica gives to others, and is given: the records that a member misses, the state of a newcomer.
#include <algorithm>

#include "muster/actors/replica.hpp"
#include "muster/config/canary.hpp"
#include "muster/config/error.hpp"

namespace muster {

namespace {

// Records that a donor keeps for newcomers: who falls further behind begins again.
constexpr std::size_t kKeptRecords = 8;
// Records that may wait to be applied; a donor sends no more than it has made since the state was copied.
constexpr std::size_t kPendingRecords = 1024;

using Payload = std::shared_ptr<const std::vector<std::byte>>;

Payload encoded(const RoundRecord& record, const std::vector<float>& gradient) {
  const bool step = record.kind == RoundKind::train && record.weight != 0;
  auto payload = std::make_shared<std::vector<std::byte>>();
  encode_record(record, step ? std::span<const float>(gradient) : std::span<const float>{}, *payload);
  return payload;
}

}  // namespace

// ---- giving

// The oldest record that this replica can hand out.
std::uint64_t ReplicaState::kept_from() const {
  return kept_.empty() ? records_ : records_ + 1 - kept_.size();
}

void ReplicaState::hand_out() {
  for (const Behind& behind : part_.view.behind) {
    for (std::uint64_t number = behind.records + 1; number <= records_; ++number) {
      Payload payload;
      if (number >= kept_from() && !kept_.empty()) {
        payload = kept_[number - kept_from()];
      } else if (number == records_ && record_) {
        payload = encoded(*record_, parts_.bench->gradient);
      } else {
        return trouble("record " + std::to_string(number) + " is not kept here any more");
      }
      self_->send(reducer_, HandOut{part_.view.number, behind.slot, number, false, payload});
    }
  }
}

// While a newcomer is fed every record is sent to it, and some are kept for what is lost with the view.
void ReplicaState::feed() {
  if (fed_.empty()) return;
  kept_.push_back(encoded(*record_, parts_.bench->gradient));
  if (kept_.size() > kKeptRecords) kept_.pop_front();
  for (const PeerId peer : fed_) {
    self_->send(reducer_, HandOut{part_.view.number, peer, records_, false, kept_.back()});
  }
}

void ReplicaState::on(const DonateTo& message) {
  if (message.view != part_.view.number) return;
  if (message.ends) {
    fed_.erase(message.peer);
    if (fed_.empty()) kept_.clear();
    return;
  }
  donations_.push_back(message.peer);
  if (!updating_) donate();
}

// The floats are copied by the compute thread before whatever it is asked for next; they are encoded and
// hashed elsewhere, while the steps go on.
void ReplicaState::donate() {
  for (const PeerId peer : std::exchange(donations_, {})) {
    fed_.insert(peer);
    parts_.compute->submit([bench = parts_.bench, background = parts_.background, view = part_.view.number,
                            place = place(), peer, replica = replica_actor(self_)] {
      auto snapshot = std::make_shared<Snapshot>();
      snapshot->place = place;
      copy_into(*snapshot, *bench);
      background->submit([snapshot, view, peer, replica] {
        auto payload = std::make_shared<const std::vector<std::byte>>(encode_snapshot(*snapshot));
        caf::anon_send(replica, StateCopied{view, peer, snapshot->place.records, std::move(payload)});
      });
    });
  }
}

void ReplicaState::on(const StateCopied& message) {
  if (message.view != part_.view.number || fed_.count(message.to) == 0) return;
  self_->send(reducer_, HandOut{message.view, message.to, message.records, true, message.payload});
}

// ---- being given

void ReplicaState::on(const Observing& message) {
  ++turn_;
  observing_ = true;
  restored_ = caught_up_ = false;
  if (canary("caught-up-early"))
    self_->send(parts_.node, CaughtUp{{}, message.view.number, message.view.records});
  part_ = Assignment{};
  part_.view = message.view;
  reducer_ = caf::actor_cast<reducer_actor>(message.reducer);
  pending_.clear();
}

void ReplicaState::on(const HandedOut& message) {
  if (message.view != part_.view.number) return;
  if (message.whole) {
    if (observing_ && !restored_) begin_restore(message.payload);
    return;
  }
  if (pending_.size() < kPendingRecords) pending_.emplace(message.number, message.payload);
  catch_up();
}

void ReplicaState::begin_restore(const Payload& payload) {
  compute([payload](Workbench& bench) {
    const SnapshotBounds bounds{bench.job.train.shards, bench.state.size(), bench.model->layout().parameters};
    const auto snapshot = decode_snapshot(*payload, bounds);
    if (!snapshot) throw Error(Advice::report_bug, "the state that a member gave cannot be read");
    muster::restore(bench, *snapshot);
    Restored restored;
    restored.snapshot = std::make_shared<const Snapshot>(*snapshot);
    return restored;
  });
}

void ReplicaState::on(const Restored& message) {
  if (message.turn != turn_ || !observing_) return;
  if (!message.error.empty()) return trouble(message.error);
  restore(message.snapshot->place);
  restored_ = true;
  for (const EpochEnd& epoch : told_) self_->send(parts_.node, epoch);
  catch_up();
}

// Applies the records that are there, in order.
void ReplicaState::catch_up() {
  const bool may = observing_ ? restored_ : behind_ && !halted_;
  if (updating_ || !may) return;
  pending_.erase(pending_.begin(), pending_.upper_bound(records_));
  const auto next = pending_.find(records_ + 1);
  if (next == pending_.end()) return say_caught_up();
  auto& gradient = parts_.bench->gradient;
  auto handed = decode_record(*next->second, parts_.bench->job.train.shards, gradient.size());
  pending_.erase(next);
  if (!handed)
    return trouble("record " + std::to_string(records_ + 1) + " that a member gave cannot be read");
  std::copy(handed->result.begin(), handed->result.end(), gradient.begin());
  record_taken(std::make_shared<const RoundRecord>(std::move(handed->record)));
}

void ReplicaState::say_caught_up() {
  if (observing_) {
    if (!std::exchange(caught_up_, true)) self_->send(parts_.node, CaughtUp{{}, part_.view.number, records_});
    return;
  }
  if (records_ < part_.view.records) return;  // more will come
  behind_ = false;
  next_round();
}

}  // namespace muster
