// The part that a replica holds (part.hpp): dealt anew before the first round of a view, gathered for a
// checkpoint, and what follows when parts are lost.
#include <algorithm>

#include "actors/events/event.hpp"
#include "actors/replica/replica.hpp"
#include "base/canary.hpp"
#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

std::set<std::uint32_t> slots_in(const View& view) {
  std::set<std::uint32_t> slots;
  for (const Member& member : view.replicas) slots.insert(member.name.slot);
  return slots;
}

std::vector<PartMove> moves_into(const TrainerState& trainer, const View& view) {
  if (view.source.view == 0) return {};
  return part_moves(part_tiles(trainer, view.source.holders), part_tiles(trainer, holders_in(view)),
                    slots_in(view), elements_in_parts(trainer));
}

// What is gathered for a checkpoint by one that has none of it.
std::vector<PartMove> moves_to_writer(const TrainerState& trainer, const View& view, std::uint32_t writer) {
  return parts_for(writer, part_tiles(trainer, holders_in(view)), elements_in_parts(trainer));
}

// One that is not on the job's way: train.steps or the data were others when it was written.
std::string why_not_from(RoundSchedule schedule, const ReplicaPlace& place) {
  return schedule.resume(place.cursor, place.steps, place.finished, place.ledger.rows(), place.deferred);
}

}  // namespace

// ---- from view to view

void ReplicaState::enter_parts() {
  give_up_gathering("its view ended before all parts were there");
  part_gathering_.enter(moves_to_writer(*setup_.trainer, assignment_.view, setup_.slot).size());
  const PartDeal::Entry entry = part_deal_.enter(assignment_.view.source, assignment_.view.number);
  compute([part = std::move(assignment_.part), view = assignment_.view, self = setup_.slot,
           entry](TrainerState& trainer) {
    if (entry.next_counts) trainer.part = std::move(trainer.next_part);
    if (entry.has_none) trainer.part.reset();
    trainer.next_part = part;
    part->prepare(trainer.part.get());
    std::vector<PartMove> wanted = moves_into(trainer, view);
    std::erase_if(wanted, [&](const PartMove& move) { return move.to != self; });
    part->expect(wanted);
    return PartTaken{0, false, part->complete(), {}};
  });
}

// All stand at the same record. Each gives what the others need of what it holds, and takes what it needs.
void ReplicaState::deal_parts() {
  if (!part_deal_.begin()) return;
  setup_.trainer->progress->now(Activity::updating);
  compute([view = assignment_.view, self = setup_.slot, records = position_->records(),
           reducer = reducer_](TrainerState& trainer) {
    Part& next = *trainer.next_part;
    for (const PartMove& move : moves_into(trainer, view)) {
      if (!next.has_vectors() || move.from != self) continue;
      if (!trainer.part) throw Error("it holds no part, but is to give some");
      if (move.to == self && next.keeps(move.elements)) continue;
      auto bytes = std::make_shared<const std::vector<std::byte>>(trainer.part->give(move.elements));
      if (move.to == self) {
        next.take(*bytes);
      } else {
        caf::anon_send(
            reducer, TransferOut{view.number, move.to, records, FrameKind::part, nullptr, std::move(bytes)});
      }
    }
    return PartTaken{0, true, next.complete(), {}};
  });
}

void ReplicaState::take_part(const TransferIn& message) {
  if (!in_parts() || catch_up_.observing()) return;
  part_deal_.ask();
  if (part_deal_.given() && !part_deal_.done() && !phase_.is_halted())
    setup_.trainer->progress->now(Activity::updating);
  compute([payload = message.payload](TrainerState& trainer) {
    trainer.next_part->take(*payload);
    return PartTaken{0, false, trainer.next_part->complete(), {}};
  });
}

void ReplicaState::on(const PartTaken& message) {
  if (message.turn != turn_) return;
  if (!message.error.empty()) return trouble(message.error);
  if (assignment_.view.last && part_deal_.done())
    setup_.trainer->progress->now(Activity::idle);  // it has given its part
  const PartDeal::Step step = part_deal_.worked(message.gave, message.complete);
  if (step == PartDeal::Step::none || phase_.is_halted()) return;
  if (step == PartDeal::Step::done) return next_round();
  // It waits for those of others, unless it has some to take.
  setup_.trainer->progress->now(part_deal_.is_worked_on() ? Activity::updating : Activity::reducing);
}

// ---- back to a checkpoint, or to the beginning: parts were lost, or none were dealt yet

void ReplicaState::go_back(DiskTries tries) {
  const PartSource& source = assignment_.view.source;
  const bool is_here = source.checkpoint.empty() || (from_ && from_->place.records == source.records);
  feed_.drop_records();
  setup_.trainer->progress->now(is_here ? Activity::updating : Activity::restoring);
  const auto restore = [compute = setup_.compute, trainer = setup_.trainer, replica = replica_actor(self_),
                        turn = turn_, tries, ticket = replacement_.ask()](
                           std::shared_ptr<const Snapshot> snapshot, const std::string& why, Unread unread) {
    compute->submit([trainer, replica, turn, tries, ticket, snapshot = std::move(snapshot), why, unread] {
      if (!ticket->begin()) return;
      Restored restored{turn, nullptr, snapshot ? std::string() : why, unread, tries};
      if (snapshot) restored.place = std::make_shared<const ReplicaPlace>(snapshot->place);
      try {
        if (snapshot) go_back_to(*trainer, *snapshot);
      } catch (const std::exception& error) {
        restored.error = error.what();
      }
      caf::anon_send(replica, std::move(restored));
    });
  };
  if (assignment_.view.back && setup_.checkpoints)
    setup_.checkpoints->set_aside(source.step, assignment_.view.history - 1);
  if (source.checkpoint.empty()) return restore(std::make_shared<const Snapshot>(), {}, Unread::no);
  if (from_ && from_->place.records == source.records) return restore(from_, {}, Unread::no);
  if (!setup_.checkpoints)
    return restore(nullptr, "it has no folder with " + source.checkpoint + " to go back to", Unread::no);
  const auto done = [restore, name = source.checkpoint, schedule = position_->schedule()](
                        auto snapshot, auto why, Unread unread) {
    if (snapshot) why = why_not_from(schedule, snapshot->place);
    restore(why.empty() ? std::move(snapshot) : nullptr, "it cannot go back to " + name + ": " + why, unread);
  };
  setup_.checkpoints->read(source.checkpoint, tries.last, done);
}

// A folder that cannot be reached for a while is no reason to go back further, or to lose this replica.
bool ReplicaState::reads_again(const Restored& message) {
  if (message.unread != Unread::refused || phase_.is_halted() || canary("reads-once")) return false;
  DiskTries tries = message.tries;
  if (++tries.refused == 1) tries.since = now();
  const auto wait =
      disk_again_in(disk_wait(tries.refused), now() - tries.since, setup_.trainer->job.cluster.give_up_after);
  if (!wait && std::exchange(tries.last, true)) return false;
  if (tries.refused == 1)
    self_->send(setup_.node, Raised{make_event("notice", {{"text", message.error + "; it tries again"}})});
  self_->delayed_send(self_, wait.value_or(std::chrono::nanoseconds(0)), ReadAgain{turn_, tries});
  return true;
}

void ReplicaState::on(const ReadAgain& message) {
  if (message.turn == turn_ && !phase_.is_halted()) go_back(message.tries);
}

// One that cannot waits for what the coordinator makes of it.
void ReplicaState::gone_back(const Restored& message) {
  replacement_.end();
  if (reads_again(message)) return;
  if (!message.error.empty() && canary("cannot-go-back-is-lost")) return trouble(message.error);
  self_->send(setup_.node, WentBack{{}, assignment_.view.number, message.error, message.unread});
  if (!message.error.empty()) return phase_.is_halted() ? answer_halt() : void();
  const ReplicaPlace& place = *message.place;
  replacement_.in_place();
  restore(place);
  checkpoint_duty_.go_back(place.records);
  checkpoint_duty_.forget_end();
  done_.reset();
  if (place.records > 0) go_on_from(place);
  checkpoint_duty_.stand_at(position_->point());  // all alike: some had come further
  report_epochs();                                // this one may not have been there yet
  part_deal_.skip();
  catch_up_.not_behind();
  phase_.is_halted() ? answer_halt() : next_round();
}

// ---- for a checkpoint: one writes it, and is given the parts of the others

void ReplicaState::give_for_checkpoint() {
  part_deal_.ask();
  compute([view = assignment_.view, to = assignment_.view.replicas.front().name.slot, self = setup_.slot,
           number = position_->records(), reducer = reducer_](TrainerState& trainer) {
    const Part& part = trainer.next_part ? *trainer.next_part : *trainer.part;
    for (const PartMove& move : moves_to_writer(trainer, view, to)) {
      if (move.from != self || !part.has_vectors()) continue;
      auto bytes = std::make_shared<const std::vector<std::byte>>(part.give(move.elements));
      caf::anon_send(reducer,
                     TransferOut{view.number, to, number, FrameKind::gathered, nullptr, std::move(bytes)});
    }
    return PartTaken{};
  });
}

void ReplicaState::gather_parts(const Snapped& own, const Written& written) {
  give_up_gathering("the next one was begun before all parts were there");
  const std::uint64_t record = own.snapshot->place.records;
  part_gathering_.begin(record,
                        {own.snapshot, part_slots(*setup_.trainer),
                         moves_to_writer(*setup_.trainer, assignment_.view, setup_.slot), setup_.slot},
                        written);
  if (own.view != assignment_.view.number) return give_up_gathering("its view ended");
  try {
    part_gathering_.take_early(record);
  } catch (const Error& error) {
    trouble(error.what());
  }
  part_gathering_.ignore_until(record);
  write_if_gathered();
}

void ReplicaState::take_gathered(const TransferIn& message) {
  if (!setup_.checkpoints) return;
  try {
    if (!part_gathering_.take(message.number, message.payload))
      return trouble("more parts were given than there are");
  } catch (const Error& error) {
    trouble(error.what());
  }
  write_if_gathered();
}

void ReplicaState::write_if_gathered() {
  if (auto whole = part_gathering_.whole()) write(std::move(whole->snapshot), whole->written);
}

// The one of the end is begun again in the next view.
void ReplicaState::give_up_gathering(const std::string& reason) {
  auto written = part_gathering_.give_up();
  if (!written || written->last || written->parting) return;
  checkpoint_duty_.end();
  written->error = reason;
  written->advice = "none is needed: the next one is written when it is due";
  raise_written(*written);
}

}  // namespace muster
