#include "actors/replica/duties/checkpoints.hpp"

#include <optional>
#include <utility>

#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"
#include "base/canary.hpp"
#include "base/check.hpp"
#include "base/units.hpp"
#include "muster/error.hpp"

namespace muster {

// ---- views

void Checkpoints::enter() {
  const View& view = context_.view();
  duty_.enter(view.number, view.last, replacement_.wanted(), context_.now());
  if (!context_.in_parts()) return;
  give_up_gathering("its view ended before all parts were there");
  gathering_.enter(moves_to_writer(context_.trainer(), view, context_.setup.slot).size());
}

void Checkpoints::stand_at_position() {
  duty_.stand_at(context_.position->point());
  snapshot_error_.clear();
}

// ---- between two rounds

void Checkpoints::look() {
  std::optional<Interval> every;
  if (context_.setup.checkpoints) every = context_.setup.checkpoints->every();
  duty_.look(context_.position->point(), every ? &*every : nullptr, context_.records());
}

void Checkpoints::take_due() {
  if (!duty_.take_due(context_.records()) || context_.schedule().finished())
    return;  // at the end one is written anyway
  if (!context_.speaks()) return context_.in_parts() ? parts_.give_for_checkpoint() : void();
  give_up_gathering("the next one was due before all parts of the optimizer were there");
  if (duty_.begin()) return take_snapshot(SnapshotUse::checkpoint);
  if (context_.in_parts()) gathering_.ignore_until(context_.records());
  context_.raise(make_event("checkpoint_passed_over",
                            {{"step", static_cast<std::int64_t>(context_.schedule().steps())}}));
}

// All stand at the same record. The first one writes it, and is given the parts of the others.
void Checkpoints::take_last() {
  if (!context_.setup.checkpoints) return context_.trouble("it has no folder for the last checkpoint");
  context_.show(context_.speaks() || context_.in_parts() ? Activity::updating : Activity::idle);
  if (context_.speaks()) return take_snapshot(SnapshotUse::parting);
  if (context_.in_parts()) parts_.give_for_checkpoint();
}

void Checkpoints::take_snapshot(SnapshotUse use) const {
  MUSTER_CHECK(!context_.phase.is_updating());
  const View& view = context_.view();
  context_.compute([use, place = context_.position->place(), number = view.number, history = view.history,
                    known = weights_.known(view.number, context_.records())](TrainerState& trainer) {
    Snapped snapped;
    snapped.view = number;
    snapped.use = use;
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->place = place;
    snapshot->history = history;
    copy_into(*snapshot, trainer);
    if (known && weigh(*snapshot, known->step) != *known) {
      snapped.error =
          "its weights have changed since they were compared with those of the others: its memory";
      return snapped;
    }
    if (const auto part = trainer.next_part ? trainer.next_part : trainer.part;
        part && use != SnapshotUse::donation)
      part->copy_into(*snapshot);
    if (canary("unlike-checkpoint") && use == SnapshotUse::checkpoint && !snapshot->slots.empty())
      snapshot->slots[0].values[0] += 1;
    snapped.snapshot = std::move(snapshot);
    return snapped;
  });
}

void Checkpoints::keep_state() {
  keep_wanted_ = context_.phase.is_updating();
  if (keep_wanted_) return;  // behind the record
  if (canary("orphan-keeps-nothing")) return context_.port->to_node(StateKept{});
  if (const std::string why = why_nothing_is_kept(); !why.empty())
    return context_.port->to_node(StateKept{"no checkpoint is written: " + why});
  take_snapshot(SnapshotUse::parting);
}

std::string Checkpoints::why_nothing_is_kept() const {
  if (!context_.setup.checkpoints) return "checkpoint.folder is not set";
  if (context_.records() == 0) return "no step was done";
  if (!snapshot_error_.empty()) return snapshot_error_;
  if (catch_up_.observing() && !catch_up_.has_state()) return "it had no state yet";
  if (replacement_.wanted()) {  // what it holds is what all give up
    const std::string& to = context_.view().source.checkpoint;
    return "its state was to be replaced by " + (to.empty() ? "that of the beginning" : to);
  }
  if (context_.in_parts() &&
      (catch_up_.observing() || context_.view().replicas.size() > 1 || !parts_.deal().done()))
    return std::string("it holds but a part of ") +
           (context_.job().train.shard_optimizer ? "the optimizer (train.shard_optimizer)"
                                                 : "what the shards left out (train.compression)") +
           "; the last one stands";
  return {};
}

// ---- what is written

void Checkpoints::on(const Snapped& message) {
  if (!message.error.empty() && message.use == SnapshotUse::parting && !context_.view().last)
    context_.port->to_node(StateKept{"no checkpoint is written: " + message.error});
  snapshot_error_ = message.error;
  if (!message.error.empty()) return context_.trouble("the snapshot could not be taken: " + message.error);
  if (message.use == SnapshotUse::donation || !context_.setup.checkpoints) return;
  Written written;
  written.view = message.view;
  written.history = message.snapshot->history;
  written.parting = message.use == SnapshotUse::parting;
  written.turn = message.turn;
  written.last = message.use == SnapshotUse::last_checkpoint;
  if (written.last && message.turn != context_.turn) return;  // the next view ends the run
  if (is_void(written)) return;
  duty_.snapped(context_.now());
  if (written.last || context_.view().last) context_.show(Activity::idle);  // the disk is not its own
  if (context_.in_parts()) return gather(message, written);
  write(message.snapshot, written);
}

void Checkpoints::write(std::shared_ptr<const Snapshot> snapshot, Written written) {
  written.number = duty_.begin_write(written);
  expect_answer(written, snapshot);
  context_.setup.checkpoints->write(std::move(snapshot), std::move(written), context_.port->posts_answers());
}

void Checkpoints::write_elsewhere(Written refused) {
  duty_.goes_elsewhere(refused);
  expect_answer(refused, refused.kept);
  context_.setup.checkpoints->write_elsewhere(std::move(refused), context_.port->posts_answers());
}

void Checkpoints::expect_answer(const Written& asked, const std::shared_ptr<const Snapshot>& snapshot) const {
  const auto wait = duty_.answers_within(asked, context_.job(), context_.view().last, context_.now());
  WriteOverdue overdue{asked, snapshot, wait, duty_.is_elsewhere(asked)};
  overdue.written.kept = nullptr;
  context_.port->to_self(wait / kLooksMax, std::move(overdue));
}

// Its thread hangs in the kernel: NFS whose server is gone, a file system that is frozen, a disk that fails.
void Checkpoints::on(const WriteOverdue& message) {
  Written late = message.written;
  late.kept = message.snapshot.lock();
  if (!duty_.is_owed(late) || duty_.is_elsewhere(late) != message.elsewhere || !late.kept ||
      is_of_another_turn(late) || is_void(late))
    return;
  if (message.looks > 1) return context_.port->to_self(message.waited / kLooksMax, looks_again(message));
  late.step = late.kept->place.steps;
  late.records = late.kept->place.records;
  late.samples = late.kept->place.samples;
  late.error = "the disk has not answered for " + human_duration(message.waited);
  late.advice = "look at the disk, or at the server of the file system";
  if (!late.last && !late.parting) return report_failed(late);  // no step waits for it
  if (!message.elsewhere && !canary("hung-disk-keeps-all")) return write_elsewhere(std::move(late));
  late.kept = nullptr;
  late.folder = "the spare folder";  // the last one that was tried
  context_.port->posts_answers()(std::move(late));
}

// One of the end is begun again in the next view.
bool Checkpoints::is_of_another_turn(const Written& written) const {
  const bool of_this_view = written.last || (written.parting && context_.view().last);
  return of_this_view && written.turn != context_.turn;
}

// What the disk refused stays in memory, and is written again; at the end of the run it goes into another
// folder at last.
bool Checkpoints::writes_again(const Written& message) {
  using Follows = CheckpointDuty::Follows;
  auto verdict = duty_.judge(message, context_.job(), context_.view().last, context_.now());
  if (verdict.follows == Follows::is_final) return false;
  if (verdict.follows == Follows::elsewhere) {
    write_elsewhere(std::move(verdict.written));
    return true;
  }
  const auto whole = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  context_.raise(make_event("checkpoint_delayed", {{"step", whole(message.step)},
                                                   {"reason", message.error},
                                                   {"needed_bytes", whole(message.needed)},
                                                   {"free_bytes", message.room ? whole(*message.room) : -1},
                                                   {"again_ms", milliseconds(verdict.wait)},
                                                   {"advice", message.advice}}));
  context_.port->to_self(verdict.wait, WriteAgain{std::move(verdict.written)});
  return true;
}

void Checkpoints::on(const WriteAgain& message) {
  if (is_of_another_turn(message.written) || is_void(message.written)) return;
  Written again = message.written;
  auto snapshot = std::move(again.kept);
  again.error.clear();
  write(std::move(snapshot), std::move(again));
}

// It is from before all went back, and would be set aside: nobody waits for it.
bool Checkpoints::is_void(const Written& written) {
  if (!duty_.is_void(written)) return false;
  duty_.end();
  return true;
}

// A verdict of a coordinator that is gone may be about one of another history, where its attempt was gone on
// with all the same.
bool Checkpoints::is_of_this_history(const Written& written) const {
  return written.history == context_.view().history;
}

bool Checkpoints::on(const Written& message) {
  if (is_void(message)) return false;
  if (!duty_.takes(message)) {
    if (message.error.empty()) report(message);  // late, and there all the same
    return false;
  }
  if (writes_again(message)) return false;
  duty_.answered(message);
  report(message);
  if (message.parting) {
    finish_parting(message);
    return false;
  }
  if (!message.last) {
    duty_.end();
    return false;
  }
  const bool of_the_end =
      context_.schedule().finished() && message.records == context_.records() && is_of_this_history(message);
  if (message.error.empty() && of_the_end) duty_.written_at_end(message);
  if (message.turn != context_.turn || context_.phase.is_halted()) return false;
  if (message.error.empty()) return true;
  context_.trouble("the last checkpoint could not be written: " + message.error);
  return false;
}

void Checkpoints::finish_parting(const Written& message) const {
  if (context_.view().last && !message.error.empty())
    return context_.trouble("the last checkpoint could not be written: " + message.error);
  context_.port->to_node(StateKept{message.error.empty()
                                       ? "its state is in " + message.path
                                       : "its state could not be written: " + message.error});
}

void Checkpoints::report(const Written& message) {
  if (!message.error.empty()) return report_failed(message);
  const auto step = static_cast<std::int64_t>(message.step);
  if (!message.folder.empty()) {
    context_.raise(make_event(
        "checkpoint_spared",
        {{"path", message.path}, {"step", step}, {"folder", message.folder}, {"reason", message.advice}}));
  }
  context_.raise(make_event("checkpoint", {{"path", message.path},
                                           {"step", step},
                                           {"bytes", static_cast<std::int64_t>(message.bytes)},
                                           {"seconds", duty_.seconds_since_snapshot(context_.now())}}));
  const Checkpointed told{message.manifest, message.records, message.step,         message.path,
                          message.folder,   message.view,    message.state_sha256, message.samples};
  duty_.told(told);
  context_.port->to_node(told);
}

void Checkpoints::report_failed(const Written& message) const {
  context_.raise(make_event("checkpoint_failed", {{"step", static_cast<std::int64_t>(message.step)},
                                                  {"reason", message.error},
                                                  {"advice", message.advice}}));
}

const Written* Checkpoints::of_the_end() const {
  const auto& written = duty_.of_the_end();
  return written && is_of_this_history(*written) ? &*written : nullptr;
}

void Checkpoints::report_again() const {
  for (const Checkpointed& told : duty_.told_last()) context_.port->to_node(told);
}

// ---- the parts of all, where replicas hold parts

void Checkpoints::gather(const Snapped& own, const Written& written) {
  give_up_gathering("the next one was begun before all parts were there");
  const std::uint64_t record = own.snapshot->place.records;
  const TrainerState& trainer = context_.trainer();
  const std::uint32_t slot = context_.setup.slot;
  gathering_.begin(record,
                   {own.snapshot, part_slots(trainer), moves_to_writer(trainer, context_.view(), slot), slot},
                   written);
  if (own.view != context_.view().number) return give_up_gathering("its view ended");
  try {
    gathering_.take_early(record);
  } catch (const Error& error) {
    context_.trouble(error.what());
  }
  gathering_.ignore_until(record);
  write_if_gathered();
}

void Checkpoints::take_gathered(const TransferIn& message) {
  if (!context_.setup.checkpoints) return;
  try {
    if (!gathering_.take(message.number, message.payload))
      return context_.trouble("more parts were given than there are");
  } catch (const Error& error) {
    context_.trouble(error.what());
  }
  write_if_gathered();
}

void Checkpoints::write_if_gathered() {
  if (auto whole = gathering_.whole()) write(std::move(whole->snapshot), whole->written);
}

// The one of the end is begun again in the next view.
void Checkpoints::give_up_gathering(const std::string& reason) {
  auto written = gathering_.give_up();
  if (!written || written->last || written->parting) return;
  duty_.end();
  written->error = reason;
  written->advice = "none is needed: the next one is written when it is due";
  report_failed(*written);
}

}  // namespace muster
