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

std::vector<PartMove> moves_into(const Workbench& bench, const View& view) {
  if (view.source.view == 0) return {};
  return part_moves(part_tiles(bench, view.source.holders), part_tiles(bench, holders_in(view)),
                    slots_in(view), elements_in_parts(bench));
}

// What is gathered for a checkpoint by one that has none of it.
std::vector<PartMove> moves_to_writer(const Workbench& bench, const View& view, std::uint32_t writer) {
  return parts_for(writer, part_tiles(bench, holders_in(view)), elements_in_parts(bench));
}

// One that is not on the job's way: train.steps or the data were others when it was written.
std::string why_not_from(Course course, const ReplicaPlace& place) {
  return course.resume(place.cursor, place.steps, place.finished, place.ledger.rows(), place.debt);
}

}  // namespace

// ---- from view to view

// A view took effect if somebody took a record of it, whether this replica did or not: then all have its
// parts. Else what was held before it is what counts.
void ReplicaState::enter_parts() {
  const PartSource& source = part_.view.source;
  give_up_gathering("its view ended before all parts were there");
  gathered_early_.clear();
  gathered_to_ = 0;
  const bool next_counts = source.view != 0 && source.view == dealt_ && took_ != dealt_;
  const bool has_none = source.view == 0 || (!next_counts && source.view != took_);
  if (next_counts) took_ = dealt_;
  dealt_ = part_.view.number;
  parts_dealt_ = parts_asked_ = parts_given_ = parts_in_ = false;
  parts_at_work_ = 1;
  pieces_ = moves_to_writer(*parts_.bench, part_.view, parts_.slot).size();
  compute([part = std::move(part_.part), view = part_.view, self = parts_.slot, next_counts,
           has_none](Workbench& bench) {
    if (next_counts) bench.part = std::move(bench.next_part);
    if (has_none) bench.part.reset();
    bench.next_part = part;
    part->prepare(bench.part.get());
    std::vector<PartMove> wanted = moves_into(bench, view);
    std::erase_if(wanted, [&](const PartMove& move) { return move.to != self; });
    part->expect(wanted);
    return PartTaken{0, false, part->complete(), {}};
  });
}

// All stand at the same record. Each gives what the others need of what it holds, and takes what it needs.
void ReplicaState::deal_parts() {
  if (std::exchange(parts_asked_, true)) return;
  parts_.bench->progress->now(Activity::updating);
  ++parts_at_work_;
  compute([view = part_.view, self = parts_.slot, records = position_->records(),
           reducer = reducer_](Workbench& bench) {
    Part& next = *bench.next_part;
    for (const PartMove& move : moves_into(bench, view)) {
      if (!next.has_vectors() || move.from != self) continue;
      if (!bench.part) throw Error("it holds no part, but is to give some");
      if (move.to == self && next.keeps(move.elements)) continue;
      auto bytes = std::make_shared<const std::vector<std::byte>>(bench.part->give(move.elements));
      if (move.to == self) {
        next.take(*bytes);
      } else {
        caf::anon_send(reducer,
                       HandOut{view.number, move.to, records, FrameKind::part, nullptr, std::move(bytes)});
      }
    }
    return PartTaken{0, true, next.complete(), {}};
  });
}

void ReplicaState::take_part(const HandedOut& message) {
  if (!in_parts() || catch_up_.observing()) return;
  ++parts_at_work_;
  if (parts_given_ && !parts_dealt_ && !halted_) parts_.bench->progress->now(Activity::updating);
  compute([payload = message.payload](Workbench& bench) {
    bench.next_part->take(*payload);
    return PartTaken{0, false, bench.next_part->complete(), {}};
  });
}

void ReplicaState::on(const PartTaken& message) {
  if (message.turn != turn_) return;
  if (!message.error.empty()) return trouble(message.error);
  --parts_at_work_;
  if (part_.view.last && parts_dealt_) parts_.bench->progress->now(Activity::idle);  // it has given its part
  parts_given_ |= message.gave;
  parts_in_ |= message.complete;
  if (parts_dealt_ || !parts_given_) return;
  if (!parts_in_ && halted_) return;
  if (!parts_in_) {  // waits for those of others, unless it has some to take
    parts_.bench->progress->now(parts_at_work_ > 0 ? Activity::updating : Activity::reducing);
    return;
  }
  parts_dealt_ = true;
  if (!halted_) next_round();
}

// ---- back to a checkpoint, or to the beginning: parts were lost, or none were dealt yet

void ReplicaState::go_back(DiskTries tries) {
  const PartSource& source = part_.view.source;
  const bool is_here = source.checkpoint.empty() || (from_ && from_->place.records == source.records);
  feed_.drop_records();
  parts_.bench->progress->now(is_here ? Activity::updating : Activity::restoring);
  const auto restore = [compute = parts_.compute, bench = parts_.bench, replica = replica_actor(self_),
                        turn = turn_, tries,
                        restoring = restoring_ = std::make_shared<std::atomic<Restoring>>(Restoring::waits)](
                           std::shared_ptr<const Snapshot> snapshot, const std::string& why, Unread unread) {
    compute->submit([bench, replica, turn, tries, restoring, snapshot = std::move(snapshot), why, unread] {
      auto waits = Restoring::waits;
      if (!restoring->compare_exchange_strong(waits, Restoring::begun)) return;
      Restored restored{turn, nullptr, snapshot ? std::string() : why, unread, tries};
      if (snapshot) restored.place = std::make_shared<const ReplicaPlace>(snapshot->place);
      try {
        if (snapshot) go_back_to(*bench, *snapshot);
      } catch (const std::exception& error) {
        restored.error = error.what();
      }
      caf::anon_send(replica, std::move(restored));
    });
  };
  if (part_.view.back && parts_.checkpoints)
    parts_.checkpoints->set_aside(source.step, part_.view.history - 1);
  if (source.checkpoint.empty()) return restore(std::make_shared<const Snapshot>(), {}, Unread::no);
  if (from_ && from_->place.records == source.records) return restore(from_, {}, Unread::no);
  if (!parts_.checkpoints)
    return restore(nullptr, "it has no folder with " + source.checkpoint + " to go back to", Unread::no);
  const auto done = [restore, name = source.checkpoint, course = position_->course()](auto snapshot, auto why,
                                                                                      Unread unread) {
    if (snapshot) why = why_not_from(course, snapshot->place);
    restore(why.empty() ? std::move(snapshot) : nullptr, "it cannot go back to " + name + ": " + why, unread);
  };
  parts_.checkpoints->read(source.checkpoint, tries.last, done);
}

// A folder that cannot be reached for a while is no reason to go back further, or to lose this replica.
bool ReplicaState::reads_again(const Restored& message) {
  if (message.unread != Unread::refused || halted_ || canary("reads-once")) return false;
  DiskTries tries = message.tries;
  if (++tries.refused == 1) tries.since = now().time_since_epoch();
  const auto wait = disk_again_in(disk_wait(tries.refused), now().time_since_epoch() - tries.since,
                                  parts_.bench->job.cluster.give_up_after);
  if (!wait && std::exchange(tries.last, true)) return false;
  if (tries.refused == 1)
    self_->send(parts_.node, Raised{make_event("notice", {{"text", message.error + "; it tries again"}})});
  self_->delayed_send(self_, wait.value_or(std::chrono::nanoseconds(0)), ReadAgain{turn_, tries});
  return true;
}

void ReplicaState::on(const ReadAgain& message) {
  if (message.turn == turn_ && !halted_) go_back(message.tries);
}

// The view is over. A state that is not replaced yet stays; one that is being replaced is told of when that
// is done, however often the view is closed.
bool ReplicaState::is_being_restored() {
  if (!restoring_) return false;
  auto waits = Restoring::waits;
  if (!restoring_->compare_exchange_strong(waits, Restoring::given_up)) return true;
  restoring_.reset();
  return false;
}

// One that cannot waits for what the coordinator makes of it.
void ReplicaState::gone_back(const Restored& message) {
  restoring_.reset();
  if (reads_again(message)) return;
  if (!message.error.empty() && canary("cannot-go-back-is-lost")) return trouble(message.error);
  self_->send(parts_.node, WentBack{{}, part_.view.number, message.error, message.unread});
  if (!message.error.empty()) return halted_ ? answer_halt() : void();
  const ReplicaPlace& place = *message.place;
  going_back_ = false;
  restore(place);
  for (auto* told : {&checkpointed_, &spared_}) {
    if (*told && (*told)->records > place.records) told->reset();
  }
  last_written_.reset();
  done_.reset();
  if (place.records > 0) go_on_from(place);
  looked_at_ = course_point(position_->course().cursor(), position_->course().steps());
  due_at_.reset();  // for all alike: some had come further
  write_due_ = false;
  tell_epochs();  // this one may not have been there yet
  parts_dealt_ = true;
  catch_up_.not_behind();
  halted_ ? answer_halt() : next_round();
}

// ---- for a checkpoint: one writes it, and is given the parts of the others

void ReplicaState::give_for_checkpoint() {
  ++parts_at_work_;
  compute([view = part_.view, to = part_.view.replicas.front().name.slot, self = parts_.slot,
           number = position_->records(), reducer = reducer_](Workbench& bench) {
    const Part& part = bench.next_part ? *bench.next_part : *bench.part;
    for (const PartMove& move : moves_to_writer(bench, view, to)) {
      if (move.from != self || !part.has_vectors()) continue;
      auto bytes = std::make_shared<const std::vector<std::byte>>(part.give(move.elements));
      caf::anon_send(reducer,
                     HandOut{view.number, to, number, FrameKind::gathered, nullptr, std::move(bytes)});
    }
    return PartTaken{};
  });
}

void ReplicaState::gather_parts(const Snapped& own, const Written& written) {
  give_up_gathering("the next one was begun before all parts were there");
  const std::uint64_t number = own.snapshot->place.records;
  gathering_parts_.emplace(Gathering{number,
                                     {own.snapshot, part_slots(*parts_.bench),
                                      moves_to_writer(*parts_.bench, part_.view, parts_.slot), parts_.slot},
                                     written});
  if (own.view != part_.view.number) return give_up_gathering("its view ended");
  for (const Payload& payload : std::exchange(gathered_early_[number], {})) take_gathered(*payload);
  take_no_more(number);
  write_if_gathered();
}

// Parts for this checkpoint or older ones, if it is not gathered just now, are for none.
void ReplicaState::take_no_more(std::uint64_t number) {
  gathered_to_ = number;
  gathered_early_.erase(gathered_early_.begin(), gathered_early_.upper_bound(number));
}

// The others may be there before this replica's own snapshot, which may be a record behind by then.
void ReplicaState::take_gathered(const HandedOut& message) {
  if (gathering_parts_ && message.number == gathering_parts_->number) {
    take_gathered(*message.payload);
    return write_if_gathered();
  }
  if (message.number <= gathered_to_ || !parts_.checkpoints) return;
  auto& early = gathered_early_[message.number];
  const auto is_it = [&](const auto& each) { return *each == *message.payload; };
  if (std::ranges::any_of(early, is_it)) return;  // it has come twice
  if (early.size() >= pieces_) return trouble("more parts were given than there are");
  early.push_back(message.payload);
}

void ReplicaState::take_gathered(std::span<const std::byte> bytes) {
  try {
    gathering_parts_->parts.take(bytes);
  } catch (const Error& error) {
    trouble(error.what());
  }
}

void ReplicaState::write_if_gathered() {
  if (!gathering_parts_ || !gathering_parts_->parts.complete()) return;
  const Gathering whole = *std::exchange(gathering_parts_, std::nullopt);
  write(whole.parts.snapshot(), whole.written);
}

// The one of the end is begun again in the next view.
void ReplicaState::give_up_gathering(const std::string& reason) {
  if (!gathering_parts_) return;
  Written written = std::exchange(gathering_parts_, std::nullopt)->written;
  if (written.last || written.parting) return;
  writing_ = false;
  written.error = reason;
  written.advice = "none is needed: the next one is written when it is due";
  raise_written(written);
}

}  // namespace muster
