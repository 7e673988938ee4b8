#include "actors/replica/duties/state_donor.hpp"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/events/event.hpp"
#include "base/units.hpp"
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

// The last one can be made again from what is at hand, unless a part of the next one's result is in its
// place. That cannot be while a member misses the record that would have to add to the next one; but a
// newcomer may.
std::uint64_t StateDonor::kept_from() const {
  if (feed_.keeps_records()) return feed_.oldest();
  return last_.whole() ? context_.records() : context_.records() + 1;
}

void StateDonor::send_missing() const {
  for (const Behind& behind : context_.view().behind) {
    for (std::uint64_t number = behind.records + 1; number <= context_.records(); ++number) {
      if (number < kept_from())
        return context_.trouble("record " + std::to_string(number) + " is not kept here any more");
      const TransferOut out{context_.view().number, behind.slot, number, FrameKind::record, nullptr};
      const auto kept = feed_.find(number);
      kept ? send(out, kept) : make_and_send(out);
    }
  }
}

void StateDonor::send(TransferOut out, std::shared_ptr<const TransferPayload> transfer) const {
  out.transfer = std::move(transfer);
  context_.port->to_reducer(std::move(out));
}

// Of the last record. A mean that is on the GPU comes to the host before anything else is computed; nobody
// writes over it, for those who miss this record add nothing.
void StateDonor::make_and_send(const TransferOut& out) const {
  if (last_.mean() != MeanIs::in_mean || !last_.is_step())
    return send(out, encoded(last_, context_.trainer().gradient.host()));
  context_.on_compute_thread(
      [last = last_, out, post = context_.port->posts_to_reducer()](TrainerState& trainer) {
        mean_to_host(trainer);
        TransferOut whole = out;
        whole.transfer = encoded(last, trainer.gradient.host());
        post(std::move(whole));
      });
}

std::uint64_t StateDonor::window() const {
  return transfer_window(
      encoded_record_bytes_max(context_.job().train.shards, context_.trainer().gradient.host().size()));
}

void StateDonor::record_taken(MeanIs mean) {
  if (!feed_.feeds_somebody()) feed_.drop_records();
  keeps_soon_ = mean != MeanIs::in_gradient && feed_.feeds_somebody();
  if (mean == MeanIs::in_gradient) feed();
}

// While a newcomer is fed records are kept for it, and for what is lost with the view.
void StateDonor::feed() {
  keeps_soon_ = false;
  if (!feed_.feeds_somebody()) return;
  act(feed_.keep(encoded(last_, context_.trainer().gradient.host()), context_.records(), window()));
}

void StateDonor::take_back() {
  if (!std::exchange(keeps_soon_, false)) feed_.drop_newest();
}

void StateDonor::act(const RecordFeed::Actions& actions) const {
  for (const auto& action : actions) {
    if (const auto* one = std::get_if<RecordFeed::Send>(&action)) {
      context_.port->to_reducer(
          TransferOut{context_.view().number, one->to, one->number, FrameKind::record, one->record});
    } else {
      const auto& slow = std::get<RecordFeed::TooSlow>(action);
      const std::string reason = "it takes the records of the steps more slowly than they are made, and is " +
                                 std::to_string(context_.records() - slow.taken) + " behind";
      context_.port->to_node(Failing{{}, 0, true, NodeName{false, slow.peer}, reason});
    }
  }
}

void StateDonor::on(const DonateTo& message) {
  if (message.view != context_.view().number) return;
  if (message.ends) {
    feed_.wants_nothing(message.peer);
    const bool of_this_view =
        deal_.took() == context_.view().number && !context_.phase.is_halted();  // else members may miss them
    if (!feed_.feeds_somebody() && of_this_view) feed_.drop_records();
    return;
  }
  feed_.wants_state(message.peer);
  if (!context_.phase.is_updating()) donate();
}

// The floats are copied by the compute thread before whatever it is asked for next, once for all who wait
// for them; they are hashed elsewhere, while the steps go on, and sent from where they are.
void StateDonor::donate() {
  const bool halted = context_.phase.is_halted();
  if (replacement_.wanted()) return;     // its state is not the view's yet
  if (!deal_.done() && !halted) return;  // nor that; where the view ended before, it stays what it is
  if (!feed_.somebody_waits()) return;
  const std::vector<PeerId> peers = feed_.give_state(context_.records());
  expect_copy();
  std::optional<std::uint64_t> turn;
  if (halted) turn = context_.show(Activity::updating);
  context_.on_compute_thread([background = context_.setup.background, turn, view = context_.view().number,
                              place = context_.position->place(), peers,
                              post = context_.port->posts_answers()](TrainerState& trainer) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->place = place;
    copy_into(*snapshot, trainer);
    if (turn) trainer.progress->rests(*turn);
    background->submit([snapshot, view, peers, post] {
      const auto transfer = snapshot_transfer(snapshot);
      for (const PeerId peer : peers) post(StateCopied{view, peer, snapshot->place.records, transfer});
    });
  });
}

// Far longer than a large state takes.
void StateDonor::expect_copy() {
  owed_ = {context_.view().number, context_.records()};
  const auto& cluster = context_.job().cluster;
  const auto wait = cluster.straggler.stuck_after + cluster.give_up_after;
  context_.port->to_self(wait / kLooksMax, StateOverdue{owed_->first, owed_->second, wait});
}

// Its thread hangs. Others can give the state; the only one there is goes on with its steps.
void StateDonor::on(const StateOverdue& message) {
  if (owed_ != std::pair(message.view, message.records) || message.view != context_.view().number) return;
  if (message.looks > 1) return context_.port->to_self(message.waited / kLooksMax, looks_again(message));
  const std::string reason = "its state is not ready for newcomers after " + human_duration(message.waited) +
                             ": the thread that encodes it hangs";
  if (context_.view().replicas.size() > 1) return context_.trouble(reason);
  context_.raise(
      make_event("notice", {{"text", "replica " + std::to_string(context_.setup.slot) + ": " + reason}}));
}

void StateDonor::on(const StateCopied& message) {
  if (owed_ == std::pair(message.view, message.records)) owed_.reset();
  if (message.view != context_.view().number || !feed_.is_for(message.to, message.records)) return;
  context_.port->to_reducer(
      TransferOut{message.view, message.to, message.records, FrameKind::state, message.transfer});
}

}  // namespace muster
