// What a replica gives to others, and is given: the records that a member misses, the state of a newcomer.
#include <algorithm>

#include "actors/replica/replica.hpp"
#include "base/canary.hpp"
#include "muster/error.hpp"
#include "transport/collective/transfer/transfer_sender.hpp"

namespace muster {

namespace {

std::shared_ptr<const TransferPayload> encoded(const LastRecord& last, std::span<const float> gradient) {
  std::vector<std::byte> bytes;
  encode_record(*last.record(), last.is_step() ? gradient : std::span<const float>{}, bytes);
  auto transfer = std::make_shared<TransferPayload>();
  transfer->add(std::move(bytes));
  return transfer;
}

}  // namespace

// ---- giving

// The oldest record that this replica can send; one that is yet to come if it can send none. The last one can
// be made again from what is at hand, unless a part of the next one's result is in its place. That cannot be
// while a member misses the record that would have to add to the next one; but a newcomer may.
std::uint64_t ReplicaState::kept_from() const {
  if (feed_.keeps_records()) return feed_.oldest();
  return last_.whole() ? position_->records() : position_->records() + 1;
}

void ReplicaState::send_transfer() {
  for (const Behind& behind : assignment_.view.behind) {
    for (std::uint64_t number = behind.records + 1; number <= position_->records(); ++number) {
      if (number < kept_from())
        return trouble("record " + std::to_string(number) + " is not kept here any more");
      const TransferOut out{assignment_.view.number, behind.slot, number, FrameKind::record, nullptr};
      const auto kept = feed_.find(number);
      kept ? send_transfer(out, kept) : make_and_send_transfer(out);
    }
  }
}

void ReplicaState::send_transfer(TransferOut out, std::shared_ptr<const TransferPayload> transfer) {
  out.transfer = std::move(transfer);
  self_->send(reducer_, std::move(out));
}

// Of the last record. A mean that is on the GPU comes to the host before anything else is computed; nobody
// writes over it, for those who miss this record add nothing.
void ReplicaState::make_and_send_transfer(const TransferOut& out) {
  if (last_.mean() != MeanIs::in_mean || !last_.is_step())
    return send_transfer(out, encoded(last_, setup_.trainer->gradient.host()));
  on_compute_thread([last = last_, out, reducer = reducer_](TrainerState& trainer) {
    mean_to_host(trainer);
    TransferOut whole = out;
    whole.transfer = encoded(last, trainer.gradient.host());
    caf::anon_send(reducer, std::move(whole));
  });
}

std::uint64_t ReplicaState::window() const {
  return transfer_window(
      encoded_record_bytes_max(setup_.trainer->job.train.shards, setup_.trainer->gradient.host().size()));
}

// While a newcomer is fed records are kept for it, and for what is lost with the view.
void ReplicaState::feed() {
  keeps_soon_ = false;
  if (!feed_.feeds_somebody()) return;
  act(feed_.keep(encoded(last_, setup_.trainer->gradient.host()), position_->records(), window()));
}

void ReplicaState::act(const RecordFeed::Actions& actions) {
  for (const auto& action : actions) {
    if (const auto* send = std::get_if<RecordFeed::Send>(&action)) {
      self_->send(reducer_, TransferOut{assignment_.view.number, send->to, send->number, FrameKind::record,
                                        send->record});
    } else {
      const auto& slow = std::get<RecordFeed::TooSlow>(action);
      const std::string reason = "it takes the records of the steps more slowly than they are made, and is " +
                                 std::to_string(position_->records() - slow.taken) + " behind";
      self_->send(setup_.node, Failing{{}, 0, true, NodeName{false, slow.peer}, reason});
    }
  }
}

void ReplicaState::on(const DonateTo& message) {
  if (message.view != assignment_.view.number) return;
  if (message.ends) {
    feed_.wants_nothing(message.peer);
    const bool of_this_view =
        part_deal_.took() == assignment_.view.number && !phase_.is_halted();  // else members may miss them
    if (!feed_.feeds_somebody() && of_this_view) feed_.drop_records();
    return;
  }
  feed_.wants_state(message.peer);
  if (!phase_.is_updating()) donate();
}

// The floats are copied by the compute thread before whatever it is asked for next, once for all who wait
// for them; they are hashed elsewhere, while the steps go on, and sent from where they are.
void ReplicaState::donate() {
  if (replacement_.wanted()) return;  // its state is not the view's yet
  if (!part_deal_.done() && !phase_.is_halted())
    return;  // nor that; where the view ended before, it stays what it is
  if (!feed_.somebody_waits()) return;
  const std::vector<PeerId> peers = feed_.give_state(position_->records());
  std::optional<std::uint64_t> turn;
  if (phase_.is_halted()) turn = setup_.trainer->progress->now(Activity::updating);
  on_compute_thread([background = setup_.background, turn, view = assignment_.view.number, place = place(),
                     peers, replica = replica_actor(self_)](TrainerState& trainer) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->place = place;
    copy_into(*snapshot, trainer);
    if (turn) trainer.progress->rests(*turn);
    background->submit([snapshot, view, peers, replica] {
      const auto transfer = snapshot_transfer(snapshot);
      for (const PeerId peer : peers)
        caf::anon_send(replica, StateCopied{view, peer, snapshot->place.records, transfer});
    });
  });
}

void ReplicaState::on(const StateCopied& message) {
  if (message.view != assignment_.view.number || !feed_.is_for(message.to, message.records)) return;
  self_->send(reducer_,
              TransferOut{message.view, message.to, message.records, FrameKind::state, message.transfer});
}

// ---- being given

void ReplicaState::on(const Observing& message) {
  next_turn();
  catch_up_.observe(message.donor);
  proof_.forget_own();  // it may have been a member: what it is given now is compared anew
  phase_.observe();
  replacement_.end();
  if (canary("caught-up-early"))
    self_->send(setup_.node, CaughtUp{{}, message.view.number, message.view.records, message.donor});
  assignment_ = Assignment{};
  batches_.enter(0, 0);
  assignment_.view = message.view;
  reducer_ = caf::actor_cast<reducer_actor>(message.reducer);
  feed_.drop_records();
  feed_.forget_newcomers();  // it may have been a member, and a donor
}

void ReplicaState::on(const TransferIn& message) {
  if (message.view != assignment_.view.number || catch_up_.refuses(message.from)) return;
  if (message.kind == FrameKind::taken) return act(feed_.taken(message.from, message.number, window()));
  if (message.kind == FrameKind::part) return take_part(message);
  if (message.kind == FrameKind::gathered) return take_gathered(message);
  catch_up_.arrived(message.number, message.waiting);
  if (message.kind == FrameKind::state) {
    if (catch_up_.takes_state()) begin_restore(message.payload);
    return;
  }
  if (!catch_up_.keep(message.number, message.payload))
    return trouble("more records were sent than it had asked for");
  catch_up();
}

// Read where it has come to: there is no other copy of it here.
void ReplicaState::begin_restore(const Payload& payload) {
  compute([payload](TrainerState& trainer) {
    const SnapshotBounds bounds{trainer.job.train.shards, trainer.state.size(),
                                trainer.model->layout().parameters};
    auto snapshot = view_snapshot(*payload, bounds);
    if (!snapshot) throw Error("the state that a member gave cannot be read");
    muster::restore(trainer, *snapshot);
    Restored restored;
    restored.place = std::make_shared<const ReplicaPlace>(std::move(snapshot->place));
    return restored;
  });
}

void ReplicaState::on(const Restored& message) {
  if (message.turn != turn_) return;
  if (!catch_up_.observing()) return gone_back(message);
  if (!message.error.empty()) return trouble(message.error);
  restore(*message.place);
  catch_up_.state_is_in_place();
  replacement_.in_place();  // as a member of a view before it may have had to; or have ended the run
  checkpoint_duty_.forget_end();
  done_.reset();
  report_epochs();
  catch_up();
}

// Applies the records that are there, in order.
void ReplicaState::catch_up() {
  const bool may = catch_up_.observing() ? catch_up_.has_state() : catch_up_.behind() && !phase_.is_halted();
  if (phase_.is_updating() || !may) return;
  const CatchUp::Next next = catch_up_.next(position_->records());
  if (next.acknowledge)
    self_->send(reducer_, TransferOut{assignment_.view.number, catch_up_.donor(), position_->records(),
                                      FrameKind::taken, nullptr});
  if (next.apply) return apply_given(*next.apply);
  setup_.trainer->progress->now(Activity::idle);
  if (!next.caught_up) return;  // more will come
  if (!catch_up_.observing()) return next_round();
  self_->send(setup_.node, CaughtUp{{}, assignment_.view.number, position_->records(), catch_up_.donor()});
}

void ReplicaState::apply_given(std::span<const std::byte> record) {
  auto& gradient = setup_.trainer->gradient.host();
  auto handed = decode_record(record, setup_.trainer->job.train.shards, gradient.size());
  if (!handed)
    return trouble("record " + std::to_string(position_->records() + 1) +
                   " that a member gave cannot be read");
  std::copy(handed->result.begin(), handed->result.end(), gradient.begin());
  record_taken(std::make_shared<const RoundRecord>(std::move(handed->record)));
}

}  // namespace muster
