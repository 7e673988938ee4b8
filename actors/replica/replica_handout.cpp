// What a replica gives to others, and is given: the records that a member misses, the state of a newcomer.
#include <algorithm>

#include "actors/replica/replica.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"
#include "transport/collective/transfer/handover.hpp"

namespace muster {

namespace {

bool is_step(const RoundRecord& record) {
  return record.kind == RoundKind::train && record.weight != 0;
}

std::shared_ptr<const Parcel> encoded(const RoundRecord& record, std::span<const float> gradient) {
  std::vector<std::byte> bytes;
  encode_record(record, is_step(record) ? std::span<const float>(gradient) : std::span<const float>{}, bytes);
  auto parcel = std::make_shared<Parcel>();
  parcel->add(std::move(bytes));
  return parcel;
}

}  // namespace

// ---- giving

// The last record can be made again from what is at hand, unless a part of the next one's result is in its
// place. That cannot be while a member misses the record that would have to add to the next one; but a
// newcomer may.
bool ReplicaState::last_whole() const {
  return record_ && (mean_whole_ || !is_step(*record_));
}

// The oldest record that this replica can hand out; one that is yet to come if it can hand out none.
std::uint64_t ReplicaState::kept_from() const {
  if (!kept_.empty()) return newest_kept() + 1 - kept_.size();
  return last_whole() ? records_ : records_ + 1;
}

void ReplicaState::hand_out() {
  for (const Behind& behind : part_.view.behind) {
    for (std::uint64_t number = behind.records + 1; number <= records_; ++number) {
      if (number < kept_from())
        return trouble("record " + std::to_string(number) + " is not kept here any more");
      const HandOut word{part_.view.number, behind.slot, number, FrameKind::record, nullptr};
      kept_.empty() || number > newest_kept() ? make_and_hand_out(word)
                                              : hand_out(word, kept_[number - kept_from()]);
    }
  }
}

void ReplicaState::hand_out(HandOut word, std::shared_ptr<const Parcel> parcel) {
  word.parcel = std::move(parcel);
  self_->send(reducer_, std::move(word));
}

// Of the last record. A mean that is on the card comes to the host before anything else is computed; nobody
// writes over it, for those who miss this record add nothing.
void ReplicaState::make_and_hand_out(const HandOut& word) {
  if (mean_ != MeanIs::in_mean || !is_step(*record_))
    return hand_out(word, encoded(*record_, parts_.bench->gradient));
  on_compute_thread([record = record_, word, reducer = reducer_](Workbench& bench) {
    mean_to_host(bench);
    HandOut whole = word;
    whole.parcel = encoded(*record, bench.gradient);
    caf::anon_send(reducer, std::move(whole));
  });
}

std::uint64_t ReplicaState::window() const {
  return handover_window(
      encoded_record_bytes_max(parts_.bench->job.train.shards, parts_.bench->gradient.size()));
}

// While a newcomer is fed records are kept for it, and for what is lost with the view.
void ReplicaState::feed() {
  keeps_soon_ = false;
  if (fed_.empty()) return;
  kept_.push_back(encoded(*record_, parts_.bench->gradient));
  if (kept_.size() > window()) kept_.pop_front();
  std::vector<PeerId> peers;
  for (const auto& [peer, feeding] : fed_) peers.push_back(peer);
  for (const PeerId peer : peers) serve(peer);
}

// Sends what the newcomer misses and may be sent; gives it up if it misses what is not kept any more.
void ReplicaState::serve(PeerId peer) {
  Feeding& feeding = fed_.at(peer);
  if (feeding.sent < newest_kept() && feeding.sent + 1 < kept_from()) {
    const std::string reason = "it takes the records of the steps more slowly than they are made, and is " +
                               std::to_string(records_ - feeding.taken) + " behind";
    fed_.erase(peer);
    return self_->send(parts_.node, Failing{{}, 0, true, NodeName{false, peer}, reason});
  }
  while (feeding.sent < newest_kept() && feeding.sent - feeding.taken < window()) {
    ++feeding.sent;
    self_->send(reducer_, HandOut{part_.view.number, peer, feeding.sent, FrameKind::record,
                                  kept_[feeding.sent - kept_from()]});
  }
}

void ReplicaState::on_taken(const HandedOut& message) {
  const auto feeding = fed_.find(message.from);
  if (feeding == fed_.end() || message.number > feeding->second.sent) return;
  feeding->second.taken = std::max(feeding->second.taken, message.number);
  serve(message.from);
}

void ReplicaState::on(const DonateTo& message) {
  if (message.view != part_.view.number) return;
  if (message.ends) {
    fed_.erase(message.peer);
    std::erase(donations_, message.peer);
    const bool of_this_view = took_ == part_.view.number && !halted_;  // else members may miss them
    if (fed_.empty() && of_this_view) kept_.clear();
    return;
  }
  donations_.push_back(message.peer);
  if (!updating_) donate();
}

// The floats are copied by the compute thread before whatever it is asked for next, once for all who wait
// for them; they are hashed elsewhere, while the steps go on, and sent from where they are.
void ReplicaState::donate() {
  if (going_back_) return;                // its state is not the view's yet
  if (!parts_dealt_ && !halted_) return;  // nor that; where the view ended before, it stays what it is
  if (donations_.empty()) return;
  const std::vector<PeerId> peers = std::exchange(donations_, {});
  for (const PeerId peer : peers) fed_[peer] = {records_, records_, records_};
  std::optional<std::uint64_t> turn;
  if (halted_) turn = parts_.bench->progress->now(Activity::updating);
  on_compute_thread([background = parts_.background, turn, view = part_.view.number, place = place(), peers,
                     replica = replica_actor(self_)](Workbench& bench) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->place = place;
    copy_into(*snapshot, bench);
    if (turn) bench.progress->rests(*turn);
    background->submit([snapshot, view, peers, replica] {
      const auto parcel = snapshot_parcel(snapshot);
      for (const PeerId peer : peers)
        caf::anon_send(replica, StateCopied{view, peer, snapshot->place.records, parcel});
    });
  });
}

void ReplicaState::on(const StateCopied& message) {
  const auto feeding = fed_.find(message.to);
  if (message.view != part_.view.number || feeding == fed_.end() || feeding->second.from != message.records)
    return;
  self_->send(reducer_, HandOut{message.view, message.to, message.records, FrameKind::state, message.parcel});
}

// ---- being given

void ReplicaState::on(const Observing& message) {
  next_turn();
  observing_ = true;
  proven_ = false;  // it may have been a member: what it is given now is compared anew
  given_ = restored_ = entering_ = false;
  caught_up_.reset();
  restoring_.reset();
  if (canary("caught-up-early"))
    self_->send(parts_.node, CaughtUp{{}, message.view.number, message.view.records, message.donor});
  donor_ = message.donor;
  taken_said_ = newest_ = 0;
  more_waits_ = false;
  part_ = Assignment{};
  part_.view = message.view;
  reducer_ = caf::actor_cast<reducer_actor>(message.reducer);
  pending_.clear();
  kept_.clear();
  fed_.clear();  // it may have been a member, and a donor
  donations_.clear();
}

void ReplicaState::on(const HandedOut& message) {
  if (message.view != part_.view.number) return;
  if (observing_ && message.from != donor_) return;  // in a pause it may have had another one
  if (message.kind == FrameKind::taken) return on_taken(message);
  if (message.kind == FrameKind::part) return take_part(message);
  if (message.kind == FrameKind::gathered) return take_gathered(message);
  if (message.number >= newest_) {
    newest_ = message.number;
    more_waits_ = message.waiting > 0;
  }
  if (message.kind == FrameKind::state) {
    if (observing_ && !std::exchange(given_, true)) begin_restore(message.payload);
    return;
  }
  if (pending_.size() >= kHandoverWindowMax)
    return trouble("more records were handed out than it had asked for");
  pending_.emplace(message.number, message.payload);
  catch_up();
}

// Read where it has come to: there is no other copy of it here.
void ReplicaState::begin_restore(const Payload& payload) {
  compute([payload](Workbench& bench) {
    const SnapshotBounds bounds{bench.job.train.shards, bench.state.size(), bench.model->layout().parameters};
    auto snapshot = view_snapshot(*payload, bounds);
    if (!snapshot) throw Error("the state that a member gave cannot be read");
    muster::restore(bench, *snapshot);
    Restored restored;
    restored.place = std::make_shared<const ReplicaPlace>(std::move(snapshot->place));
    return restored;
  });
}

void ReplicaState::on(const Restored& message) {
  if (message.turn != turn_) return;
  if (!observing_) return gone_back(message);
  if (!message.error.empty()) return trouble(message.error);
  restore(*message.place);
  restored_ = true;
  going_back_ = false;  // as a member of a view before it may have had to; or have ended the run
  last_written_.reset();
  done_.reset();
  tell_epochs();
  catch_up();
}

// Applies the records that are there, in order.
void ReplicaState::catch_up() {
  const bool may = observing_ ? restored_ : behind_ && !halted_;
  if (updating_ || !may) return;
  pending_.erase(pending_.begin(), pending_.upper_bound(records_));
  if (observing_ && std::exchange(taken_said_, records_) < records_)
    self_->send(reducer_, HandOut{part_.view.number, donor_, records_, FrameKind::taken, nullptr});
  const auto next = pending_.find(records_ + 1);
  if (next == pending_.end()) {
    parts_.bench->progress->now(Activity::idle);
    return say_caught_up();
  }
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
    if (more_waits_ || !pending_.empty()) return;  // steps are on their way that would be waited for
    // Again with each record: in a pause those that it lacked before may be what the others do not keep.
    if (std::exchange(caught_up_, records_) != records_)
      self_->send(parts_.node, CaughtUp{{}, part_.view.number, records_, donor_});
    return;
  }
  if (records_ < part_.view.records) return;  // more will come
  behind_ = false;
  next_round();
}

}  // namespace muster
