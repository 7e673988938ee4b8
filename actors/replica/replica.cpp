#include "actors/replica/replica.hpp"

#include <algorithm>

#include "base/canary.hpp"
#include "base/check.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

constexpr std::size_t kHashedAtOnce = std::size_t{1} << 24;  // elements: 64 MiB, a tenth of a second or so

}  // namespace

void ReplicaState::start(Self self, ReplicaSetup setup) {
  self_ = self;
  setup_ = std::move(setup);
  position_.emplace(setup_.trainer->job, setup_.facts, setup_.slot);
  if (const auto from = std::move(setup_.from)) {
    restore(from);
    go_on_from(from->place);
    if (in_parts()) from_ = from;
  }
}

std::chrono::nanoseconds ReplicaState::now() const {
  return self_->clock().now().time_since_epoch();
}

// What was asked for until now is of no use any more.
void ReplicaState::next_turn() {
  setup_.trainer->turn = ++turn_;
  backups_.give_up();
  audit_round_.give_up();
}

void ReplicaState::trouble(const std::string& reason, std::vector<Event> events) {
  const bool ends_run = !events.empty();
  self_->send(setup_.node, Trouble{reason, std::move(events), {}, ends_run});
}

// With one shard's micro-batch, or with all.
void ReplicaState::model_failed(std::optional<std::uint32_t> shard, const std::string& error) {
  if (!shard) return trouble("the model failed: " + error);
  const ErrorPlace at = place_of(batches_.cursor(), *shard);
  self_->send(setup_.node, Trouble{"the model failed at " + at.text() + ": " + error, {}, at});
}

// A part in a view: which shards, through which reducer. The accumulator is changed where it is used.
void ReplicaState::on(const Assignment& message) {
  next_turn();
  assignment_ = message;
  reducer_ = caf::actor_cast<reducer_actor>(message.reducer);
  batches_.enter(assignment_.begin, assignment_.end);
  round_ = 1;
  catch_up_.join(position_->records(), assignment_.view.records);
  feed_.forget_newcomers();
  done_.reset();
  phase_.enter();
  proof_.enter(assignment_.view, setup_.slot);
  replacement_.enter(assignment_.view.back || (in_parts() && assignment_.view.source.view == 0));
  checkpoint_duty_.enter(assignment_.view.number, assignment_.view.last, replacement_.wanted(), now());
  if (in_parts()) enter_parts();
  on_compute_thread([begin = assignment_.begin, end = assignment_.end,
                     on_gpus = assignment_.view.sums_on_gpus](TrainerState& trainer) {
    trainer.gradient.enter_view(on_gpus);
    trainer.accumulator = make_accumulator(trainer, begin, end);
  });
}

// The view is in force. A newcomer may still apply what it was given in a pause. Who holds all records gives
// the last ones to those who miss them; they go on when they have applied them.
void ReplicaState::go_on() {
  if (!phase_.begin()) return;  // see next_round
  times_.begin(now());
  if (replacement_.wanted()) return go_back();
  if (!catch_up_.behind() && assignment_.view.donor == setup_.slot) send_transfer();
  if (catch_up_.behind())
    feed_.drop_records();  // else those who miss records may miss them in the next view, too
  catch_up_.behind() ? catch_up() : next_round();
}

// The view is over. A record that is taken is applied first; it counts as held.
void ReplicaState::on(const ViewClosed& message) {
  if (message.view != assignment_.view.number) return;  // of one that was closed twice
  phase_.halt();
  catch_up_.stop_observing();
  closed_view_ = message.view;
  if (message.result_begun) last_.mean_is_overwritten();
  result_abandoned_ |= message.result_abandoned;
  if (!replacement_.goes_on() && !phase_.is_updating()) answer_halt();
}

void ReplicaState::answer_halt() {
  setup_.trainer->progress->now(Activity::idle);
  next_turn();
  donate();
  if (std::exchange(result_abandoned_, false)) {  // a member vanished in the middle of sending its part
    try {
      replace_result(*setup_.trainer, assignment_.view.sums_on_gpus);
    } catch (const Error& error) {  // a GPU's memory is bounded
      return trouble(error.what());
    }
  }
  self_->send(setup_.node, Halted{closed_view_, position_->records() + (canary("records-one-high") ? 1 : 0),
                                  kept_from(), part_deal_.took(), proof_.own(),
                                  position_->schedule().finished(), times_.phases(), times_.traffic()});
}

// In each view one replica speaks for all: the first.
bool ReplicaState::speaks() const {
  return assignment_.view.replicas.front().name.slot == setup_.slot;
}

ReplicaPhase::Facts ReplicaState::facts() const {
  const RoundSchedule& schedule = position_->schedule();
  ReplicaPhase::Facts facts;
  facts.observing = catch_up_.observing();
  facts.behind = catch_up_.behind();
  facts.parts_dealt = part_deal_.done();
  facts.comparison_due = weights_.due(assignment_.view, position_->records(), schedule.finished(),
                                      checkpoint_duty_.due_at(position_->records()));
  facts.last_view = assignment_.view.last;
  facts.job_finished = schedule.finished();
  facts.evaluates = schedule.cursor().mode == Mode::evaluate;
  return facts;
}

void ReplicaState::next_round() {
  phase_.record_applied();
  look_at_place();
  if (keep_wanted_) keep_state();
  donate();
  switch (phase_.next(facts())) {
    case NextActivity::rest:
      return void(setup_.trainer->progress->now(Activity::idle));
    case NextActivity::go_on:
      return go_on();
    case NextActivity::catch_up:
      return catch_up();
    case NextActivity::answer_halt:
      return answer_halt();
    case NextActivity::deal_parts:
      return deal_parts();
    case NextActivity::compare_weights:
      return begin_check();
    case NextActivity::keep_last:
      return keep_last();
    case NextActivity::finish:
      consider_checkpoint();
      return finish();
    case NextActivity::evaluate:
      consider_checkpoint();
      return begin_evaluation();
    case NextActivity::train:
      consider_checkpoint();
      return gather(position_->schedule().cursor());
  }
}

// Shards that take no part in the round are not asked: they count as ended.
void ReplicaState::gather(const Cursor& cursor) {
  batches_.begin(cursor);
  setup_.trainer->progress->now(Activity::loading);
  times_.pass(now());
  begin_audits(cursor);
  for (std::uint32_t shard = assignment_.begin; shard < assignment_.end; ++shard) {
    const std::size_t place = shard - assignment_.begin;
    if (cursor.mode == Mode::evaluate || (position_->schedule().takes_part(shard) && !left_out(shard))) {
      self_->send(caf::actor_cast<shard_actor>(assignment_.shards[place]), Need{cursor});
    } else {
      batches_.skip(shard);
    }
  }
  if (batches_.complete()) gathered();  // a member with nothing to add says so
}

// Whether the round goes on without the shard, because it was late. What is owed is waited for.
bool ReplicaState::left_out(std::uint32_t shard) const {
  const Dropping& dropping = assignment_.view.dropping;
  if (position_->records() != assignment_.view.records || dropping.record != position_->records() + 1 ||
      position_->schedule().replaying())
    return false;
  return std::any_of(dropping.shards.begin(), dropping.shards.end(),
                     [&](const ShardRange& range) { return range.holds(shard); });
}

void ReplicaState::on(const MicroBatch& message) {
  const Item& item = message.item;
  if (take_for_audit(item) || take_for_backup_task(item)) return;
  if (phase_.is_halted() || !batches_.holds(item.shard) ||
      self_->current_sender() != assignment_.shards[item.shard - assignment_.begin]) {
    return;  // of a view that is over
  }
  batches_.take(item);
  setup_.trainer->progress->now(Activity::loading, item.shard);
  if (batches_.complete()) gathered();
}

void ReplicaState::gathered() {
  times_.gathered(now());
  if (batches_.cursor().mode == Mode::train) {
    begin_step();
  } else {
    go_on_evaluating();
  }
}

RoundHeader ReplicaState::header(RoundKind kind) const {
  RoundHeader header;
  header.round = round_;
  header.kind = kind;
  header.epoch = position_->schedule().cursor().epoch;
  header.step = position_->schedule().steps() + 1;
  header.applied = position_->schedule().steps();
  header.record_hash = position_->record_hash();
  header.weights = weights_.block();
  return header;
}

ShardReport ReplicaState::shard_report(const Item& item) const {
  ShardReport shard_report;
  shard_report.shard = item.shard;
  shard_report.ended = item.ended ? 1 : 0;
  shard_report.first = item.range.first;
  shard_report.count = item.range.count;
  if (left_out(item.shard)) shard_report.ended = ShardReport::kLeftOut;
  if (item.ended) return shard_report;
  shard_report.rows = item.batch->rows;
  shard_report.is_short =
      !setup_.facts.unit_is_batch && shard_report.rows < setup_.trainer->job.train.batch ? 1 : 0;
  shard_report.weight = setup_.trainer->model->weight(*item.batch);
  return shard_report;
}

void ReplicaState::begin_step() {
  const bool sketching = setup_.trainer->low_rank != nullptr;
  RoundHeader opening = header(sketching ? RoundKind::sketch : RoundKind::train);
  for (const Item& item : batches_.items()) opening.shards.push_back(shard_report(item));
  two_sums_.begin(sketching, opening.shards);
  const ReducedElements elements = reduced_elements(*setup_.trainer);
  const std::size_t of_step = sums_stay(*setup_.trainer, assignment_.view) ? 0 : elements.step;
  float* const result = setup_.trainer->gradient.result(assignment_.view.sums_on_gpus);
  self_->send(reducer_, Open{assignment_.view.number, opening, result, sketching ? elements.sketch : of_step,
                             setup_.trainer});
  const bool any =
      std::any_of(opening.shards.begin(), opening.shards.end(), [](const auto& w) { return w.present(); });
  audit_round_.own_begun();
  if (!any) {
    times_.computes_nothing();
    return done_with({});
  }
  setup_.trainer->progress->now(Activity::computing, assignment_.begin);
  compute([items = batches_.items(), step = opening.step, turn = turn_,
           offering = offers()](TrainerState& trainer) {
    return compute_step(trainer, *trainer.accumulator, items, step, turn, offering);
  });
  audit_if_ready();
}

void ReplicaState::on(const Computed& message) {
  if (message.turn != turn_) return;
  if (!message.error.empty()) return model_failed(message.error_shard, message.error);
  if (phase_.is_halted()) return;
  if (message.backup_task != 0) return backup_task_done(message);
  if (batches_.cursor().mode == Mode::evaluate) {
    times_.evaluated(now());
    evaluation_ = message.metrics;
    return gather({Mode::evaluate, batches_.cursor().epoch, batches_.cursor().step + 1});
  }
  const bool second = setup_.trainer->low_rank && !two_sums_.in_first();
  times_.computed(now(), second);
  if (two_sums_.in_first()) {
    two_sums_.first_computed(message.metrics);
    return contribute(message.nodes, {});
  }
  setup_.trainer->progress->measured(position_->schedule().steps() + 1, times_.step_seconds());
  done_with({message.nodes, second ? two_sums_.metrics() : message.metrics, message.audits});
}

// Buckets go to the reducer while the rest is computed.
Offering ReplicaState::offers() const {
  const TrainerState& trainer = *setup_.trainer;
  Offering offering;
  offering.bucket_elements =
      bucket_elements(trainer.job, trainer.state.size(), assignment_.view.replicas.size());
  offering.stays = sums_stay(trainer, assignment_.view);
  offering.audited = own_audit();
  offering.done = [reducer = reducer_, view = assignment_.view.number, round = round_, keep = setup_.trainer](
                      const std::vector<NodeValue>& sums, ElementRange bucket) {
    caf::anon_send(reducer, Offer{view, round, sums, bucket, keep});
  };
  return offering;
}

// This replica's part of the round is done; from here on it waits for others.
void ReplicaState::contribute(std::vector<NodeValue> nodes, std::vector<ShardMetrics> metrics,
                              std::vector<AuditReport> audits) {
  setup_.trainer->progress->now(Activity::reducing);
  const std::shared_ptr<const void> keep = nodes.empty() ? nullptr : setup_.trainer;
  self_->send(reducer_, Contribute{assignment_.view.number, round_, std::move(nodes), std::move(metrics),
                                   keep, 0, std::move(audits)});
}

// The first sums of a step are there: each shard's second ones follow from them. Should the view end on the
// way, the step begins again.
void ReplicaState::sketched(const RoundRecord& sketch) {
  two_sums_.first_reduced();
  last_.mean_is_overwritten();
  times_.reduced(sketch, now());
  TrainerState& trainer = *setup_.trainer;
  RoundHeader opening = header(RoundKind::train);
  opening.shards = two_sums_.shards();
  opening.record_hash = sketch.hash;
  self_->send(reducer_, Open{assignment_.view.number, opening,
                             trainer.gradient.result(false) + trainer.low_rank->first(),
                             reduced_elements(trainer).step, setup_.trainer});
  // With nothing to add there is nothing to wait for: an earlier turn may still compute.
  if (sketch.weight == 0 || !two_sums_.any_present()) return contribute({}, two_sums_.metrics());
  trainer.progress->now(Activity::computing, assignment_.begin);
  compute([items = batches_.items(), step = opening.step, turn = turn_](TrainerState& trainer_state) {
    return compute_second(trainer_state, *trainer_state.accumulator, items, step, turn);
  });
}

void ReplicaState::on(const RoundDone& message) {
  ++round_;
  next_turn();  // backup workers may have computed for this replica, which still computes
  if (message.record->kind == RoundKind::sketch) return sketched(*message.record);
  if (message.record->kind == RoundKind::check) return checked(*message.record);
  view_takes_effect();
  record_taken(message.record, mean_of(*message.record));
}

// The first record of a view: from here on what was held before it is of no use.
void ReplicaState::view_takes_effect() {
  if (!part_deal_.take_effect(assignment_.view.number)) return;
  from_.reset();
  feed_.drop_records();  // of the view before; all have them
  if (!in_parts()) return;
  setup_.compute->submit([trainer = setup_.trainer] { trainer->part = std::move(trainer->next_part); });
}

MeanIs ReplicaState::mean_of(const RoundRecord& record) const {
  if (record.kind != RoundKind::train || record.weight == 0) return MeanIs::in_gradient;  // there is none
  if (sums_stay(*setup_.trainer, assignment_.view)) return MeanIs::in_sums;
  return assignment_.view.sums_on_gpus ? MeanIs::in_mean : MeanIs::in_gradient;
}

// From here on the record is held, whatever becomes of the view: it is applied, and can be handed to others.
void ReplicaState::record_taken(const std::shared_ptr<const RoundRecord>& record, MeanIs mean) {
  last_.take(record, mean);
  if (!feed_.feeds_somebody()) feed_.drop_records();
  position_->take(*record);
  phase_.record_taken();
  setup_.trainer->progress->now(Activity::updating);
  times_.recorded(*record, now(), catch_up_.observing());
  keeps_soon_ = mean != MeanIs::in_gradient && feed_.feeds_somebody();
  if (mean == MeanIs::in_gradient) feed();
  if (record->kind == RoundKind::train) {
    step_recorded(*record);
  } else {
    evaluation_recorded(*record);
  }
}

void ReplicaState::begin_evaluation() {
  evaluation_.clear();
  self_->send(reducer_, Open{assignment_.view.number, header(RoundKind::evaluate), nullptr, 0, nullptr});
  gather(position_->schedule().cursor());
}

void ReplicaState::go_on_evaluating() {
  if (batches_.all_ended()) {
    times_.pass(now());
    contribute({}, evaluation_);
    return;
  }
  setup_.trainer->progress->now(Activity::computing, assignment_.begin);
  compute([items = batches_.items(), sums = evaluation_](TrainerState& trainer) {
    Computed computed;
    computed.metrics = sums;
    compute_evaluation(trainer, items, computed.metrics);
    return computed;
  });
}

// One who speaks writes the last checkpoint, and is done when it is there. In the view before it may have
// been another one, or of another history, whose checkpoints may count no more.
void ReplicaState::finish() {
  setup_.trainer->progress->now(Activity::updating);
  const bool gives = setup_.checkpoints && in_parts() && !speaks();
  if (gives) give_for_checkpoint();
  const auto& written = checkpoint_duty_.of_the_end();
  if (written && !is_of_another_history(*written) && !gives)
    return report_done(written->state_sha256, written->path);
  if (setup_.checkpoints && speaks()) return take_snapshot(SnapshotUse::last_checkpoint);
  compute([](TrainerState& trainer) {
    const auto state = host_state(trainer);
    Sha256 hash;
    for (std::size_t at = 0; at < state.size(); at += kHashedAtOnce) {
      hash.add(std::as_bytes(std::span(state).subspan(at, std::min(kHashedAtOnce, state.size() - at))));
      trainer.progress->moved();
    }
    Hashed hashed;
    hashed.state_sha256 = hash.hex();
    return hashed;
  });
}

void ReplicaState::on(const Hashed& message) {
  if (message.turn != turn_) return;
  if (!message.error.empty()) return trouble("the weights could not be hashed: " + message.error);
  report_done(message.state_sha256, {});
}

void ReplicaState::report_done(const std::string& state_sha256, const std::string& checkpoint) {
  setup_.trainer->progress->now(Activity::idle);
  ReplicaDone done;
  done.slot = setup_.slot;
  done.steps = position_->schedule().steps();
  done.samples = position_->samples();
  done.state_sha256 = state_sha256;
  done.phases = times_.phases();
  done.traffic = times_.traffic();
  done.algorithm = text_of(assignment_.algorithm);
  if (position_->schedule().ran_out())
    done.steps_asked = static_cast<std::int64_t>(*setup_.trainer->job.train.steps);
  done.checkpoint = checkpoint;
  done.epochs = position_->told();
  for (EpochEnd& epoch : done.epochs) epoch.view = assignment_.view.number;
  done_ = done;
  self_->send(setup_.node, done);
}

// A coordinator that was started anew knows nothing of what was told before.
void ReplicaState::on(const Adopted&) {
  if (!replacement_.wanted()) report_epochs();                   // else they are of steps that are done again
  for (const Checkpointed& told : checkpoint_duty_.told_last())  // a report that was on its way may be lost
    self_->send(setup_.node, told);
  if (done_ && !phase_.is_halted()) self_->send(setup_.node, *done_);
}

replica_actor::behavior_type replica(ReplicaState::Self self, ReplicaSetup setup) {
  self->state.start(self, std::move(setup));
  return {[=](const Begin&) { self->state.go_on(); },
          [=](const MicroBatch& message) { self->state.on(message); },
          [=](const Computed& message) { self->state.on(message); },
          [=](const RoundDone& message) { self->state.on(message); },
          [=](const Updated& message) { self->state.on(message); },
          [=](const Hashed& message) { self->state.on(message); },
          [=](const Snapped& message) { self->state.on(message); },
          [=](const Written& message) { self->state.on(message); },
          [=](const ViewClosed& message) { self->state.on(message); },
          [=](const Assignment& message) { self->state.on(message); },
          [=](const TransferIn& message) { self->state.on(message); },
          [=](const Observing& message) { self->state.on(message); },
          [=](const DonateTo& message) { self->state.on(message); },
          [=](const StateCopied& message) { self->state.on(message); },
          [=](const Restored& message) { self->state.on(message); },
          [=](const Adopted& message) { self->state.on(message); },
          [=](const RunBackupTask& message) { self->state.on(message); },
          [=](const KeepState&) { self->state.keep_state(); },
          [=](const PartTaken& message) { self->state.on(message); },
          [=](const WriteAgain& message) { self->state.on(message); },
          [=](const ReadAgain& message) { self->state.on(message); },
          [=](const AuditShardReply& message) { self->state.on(message); },
          [=](const Audited& message) { self->state.on(message); },
          [=](const Weighed& message) { self->state.on(message); }};
}

}  // namespace muster
