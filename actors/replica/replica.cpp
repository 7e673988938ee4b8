#include "actors/replica/replica.hpp"

#include <string>
#include <utility>
#include <variant>

#include "actors/events/event.hpp"
#include "actors/replica/context/own_round.hpp"
#include "base/canary.hpp"
#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

class ReplicaActorPort final : public ReplicaPort {
 public:
  ReplicaActorPort(replica_actor::pointer self, const ReplicaContext& context)
      : self_(self), context_(context) {}

  std::chrono::nanoseconds now() const override { return self_->clock().now().time_since_epoch(); }

  void to_node(ToNode message) override {
    std::visit([&](auto& each) { self_->send(context_.setup.node, std::move(each)); }, message);
  }
  void to_reducer(ToReducer message) override {
    std::visit([&](auto& each) { self_->send(reducer(), std::move(each)); }, message);
  }
  void to_shard(const caf::strong_actor_ptr& shard, const Need& need) override {
    self_->send(caf::actor_cast<shard_actor>(shard), need);
  }
  void to_self(std::chrono::nanoseconds after, Later message) override {
    std::visit([&](auto& each) { self_->delayed_send(self_, after, std::move(each)); }, message);
  }

  std::function<void(ToNode)> posts_to_node() const override { return poster<ToNode>(context_.setup.node); }
  std::function<void(ToReducer)> posts_to_reducer() const override { return poster<ToReducer>(reducer()); }
  std::function<void(Answer)> posts_answers() const override { return poster<Answer>(replica_actor(self_)); }

 private:
  reducer_actor reducer() const { return caf::actor_cast<reducer_actor>(context_.assignment.reducer); }

  template <class Message, class Actor>
  static std::function<void(Message)> poster(const Actor& to) {
    return [to](Message message) {
      std::visit([&](auto& each) { caf::anon_send(to, std::move(each)); }, message);
    };
  }

  replica_actor::pointer self_;
  const ReplicaContext& context_;
};

// Where the mean of the view's record is.
MeanIs mean_of(const RoundRecord& record, const TrainerState& trainer, const View& view) {
  if (record.kind != RoundKind::train || record.weight == 0) return MeanIs::in_gradient;  // there is none
  if (sums_stay(trainer, view)) return MeanIs::in_sums;
  return view.sums_on_gpus ? MeanIs::in_mean : MeanIs::in_gradient;
}

}  // namespace

void ReplicaState::start(Self self, ReplicaSetup setup) {
  self_ = self;
  context_.setup = std::move(setup);
  context_.port = std::make_unique<ReplicaActorPort>(self_, context_);
  books_.start(context_.job(), context_.setup.facts, context_.setup.slot);
  context_.position = &books_.position();
  if (const auto from = std::move(context_.setup.from)) {
    restore(from);
    resume(from->place);
    if (context_.in_parts()) rollback_.keep_source(from);
  }
}

// What was asked for until now is of no use any more.
void ReplicaState::next_turn() {
  context_.trainer().turn = ++context_.turn;
  backups_.give_up();
  audits_.give_up();
}

// ---- views

// A part in a view: which shards, through which reducer. The accumulator is changed where it is used.
void ReplicaState::on(const Assignment& message) {
  next_turn();
  context_.assignment = message;
  const Assignment& assignment = context_.assignment;
  batches_.enter(assignment.begin, assignment.end);
  context_.round = 1;
  receiver_.join();
  donor_.forget_newcomers();
  end_.forget();
  context_.phase.enter();
  audits_.enter();
  rollback_.enter();
  checkpoints_.enter();
  if (context_.in_parts()) parts_.enter(std::move(context_.assignment.part));
  context_.on_compute_thread([begin = assignment.begin, end = assignment.end,
                              on_gpus = assignment.view.sums_on_gpus](TrainerState& trainer) {
    trainer.gradient.enter_view(on_gpus);
    trainer.accumulator = make_accumulator(trainer, begin, end);
  });
}

// The view is in force. A newcomer may still apply what it was given in a pause. Who holds all records gives
// the last ones to those who miss them; they go on when they have applied them.
void ReplicaState::go_on() {
  if (!context_.phase.begin()) return;  // see next_round
  times_.begin(context_.now());
  if (rollback_.replacement().wanted()) {
    donor_.drop_records();
    return rollback_.begin();
  }
  const bool behind = receiver_.catch_up().behind();
  if (!behind && context_.view().donor == context_.setup.slot) donor_.send_missing();
  if (behind) donor_.drop_records();  // else those who miss records may miss them in the next view, too
  behind ? catch_up() : next_round();
}

// The view is over. A record that is taken is applied first; it counts as held.
void ReplicaState::on(const ViewClosed& message) {
  if (message.view != context_.view().number) return;  // of one that was closed twice
  context_.phase.halt();
  receiver_.stop_observing();
  closed_view_ = message.view;
  if (message.result_begun) last_.mean_is_overwritten();
  result_abandoned_ |= message.result_abandoned;
  if (!rollback_.goes_on() && !context_.phase.is_updating()) answer_halt();
}

void ReplicaState::answer_halt() {
  context_.show(Activity::idle);
  next_turn();
  donor_.donate();
  if (std::exchange(result_abandoned_, false)) {  // a member vanished in the middle of sending its part
    try {
      replace_result(context_.trainer(), context_.view().sums_on_gpus);
    } catch (const Error& error) {  // a GPU's memory is bounded
      return context_.trouble(error.what());
    }
  }
  context_.port->to_node(Halted{closed_view_, context_.records() + (canary("records-one-high") ? 1 : 0),
                                donor_.kept_from(), parts_.deal().took(), audits_.proven(),
                                context_.schedule().finished(), times_.phases(), times_.traffic()});
}

// A coordinator that was started anew knows nothing of what was told before.
void ReplicaState::on(const Adopted&) {
  if (!rollback_.replacement().wanted()) books_.report_told();  // else they are of steps that are done again
  checkpoints_.report_again();                                  // a report that was on its way may be lost
  end_.report_again();
}

ReplicaPhase::Facts ReplicaState::facts() const {
  const RoundSchedule& schedule = context_.schedule();
  ReplicaPhase::Facts facts;
  facts.observing = receiver_.catch_up().observing();
  facts.behind = receiver_.catch_up().behind();
  facts.parts_dealt = parts_.deal().done();
  facts.comparison_due =
      check_.comparison().due(context_.view(), context_.records(), schedule.finished(), checkpoints_.due());
  facts.last_view = context_.view().last;
  facts.job_finished = schedule.finished();
  facts.evaluates = schedule.cursor().mode == Mode::evaluate;
  return facts;
}

void ReplicaState::next_round() {
  context_.phase.record_applied();
  checkpoints_.look();
  checkpoints_.keep_state_if_wanted();
  donor_.donate();
  switch (context_.phase.next(facts())) {
    case NextActivity::rest:
      return void(context_.show(Activity::idle));
    case NextActivity::go_on:
      return go_on();
    case NextActivity::catch_up:
      return catch_up();
    case NextActivity::answer_halt:
      return answer_halt();
    case NextActivity::deal_parts:
      return parts_.begin();
    case NextActivity::compare_weights:
      return check_.begin();
    case NextActivity::keep_last:
      return checkpoints_.take_last();
    case NextActivity::finish:
      checkpoints_.take_due();
      return end_.begin();
    case NextActivity::evaluate:
      checkpoints_.take_due();
      return steps_.evaluate();
    case NextActivity::train:
      checkpoints_.take_due();
      return steps_.train();
  }
}

// ---- a step

void ReplicaState::on(const MicroBatch& message) {
  if (audits_.take(message.item) || backups_.take(message.item)) return;
  steps_.on(message, self_->current_sender());
}

void ReplicaState::on(const Computed& message) {
  if (message.turn != context_.turn) return;
  if (!message.error.empty())
    return model_failed(context_, batches_.cursor(), message.error_shard, message.error);
  if (context_.phase.is_halted()) return;
  message.backup_task != 0 ? backups_.computed(message) : steps_.computed(message);
}

void ReplicaState::on(const RoundDone& message) {
  const RoundRecord& record = *message.record;
  ++context_.round;
  next_turn();  // backup workers may have computed for this replica, which still computes
  if (record.kind == RoundKind::sketch) {
    last_.mean_is_overwritten();
    return steps_.sketched(record);
  }
  if (record.kind == RoundKind::check) {
    check_.compared(record);
    return next_round();
  }
  if (parts_.take_effect()) {  // the first record of the view: what was held before it is of no use
    rollback_.forget_source();
    donor_.drop_records();  // of the view before; all have them
  }
  record_taken(message.record, mean_of(record, context_.trainer(), context_.view()));
}

// From here on the record is held, whatever becomes of the view: it is applied, and can be handed to others.
// A step is counted when it has been applied: until then it may be taken back.
void ReplicaState::record_taken(const std::shared_ptr<const RoundRecord>& record, MeanIs mean) {
  const CatchUp& given = receiver_.catch_up();
  last_.take(record, mean);
  books_.take(*record);
  context_.phase.record_taken();
  context_.show(Activity::updating);
  times_.recorded(*record, context_.now(), given.observing());
  donor_.record_taken(mean);
  if (record->kind != RoundKind::train) {
    books_.evaluated(*record);
    return next_round();
  }
  if (record->weight != 0)
    return steps_.update(last_, donor_.feeds_somebody(), given.behind() && canary("applies-twice"));
  if (!books_.count(*record)) return;
  books_.weightless(*record);
  next_round();
}

void ReplicaState::on(const Updated& message) {
  if (!message.error.empty()) return context_.trouble("the update failed: " + message.error);
  const RoundRecord& record = *last_.record();
  const TrainerState& trainer = context_.trainer();
  if (message.not_finite) {  // all replicas find the same
    NotFiniteCause cause = trainer.cause.cause();
    look_at_samples(batches_.items(), record, cause);
    Event event = not_finite_event(message.not_finite, cause, record, trainer.job, trainer.model->layout(),
                                   context_.setup.facts);
    if (trainer.job.train.not_finite == OnNotFinite::stop) return stop_before(std::move(event));
    if (context_.speaks()) context_.raise(std::move(event));
  }
  if (!books_.count(record)) return;
  trainer.progress->trained(context_.position->samples());
  check_.block_weighed(message.weights);
  const CatchUp& given = receiver_.catch_up();
  const std::uint32_t took = parts_.deal().took();  // lower than the view, if the record was given before
  if (!given.observing() && !given.behind() && took == context_.view().number) audits_.prove(record);
  if (last_.mean() != MeanIs::in_gradient) donor_.feed();  // the newcomers' copy has come from the GPU
  books_.step_applied(record, message.gradient_norm, took);
  next_round();
}

// The record was not applied: the weights before it are still good. The coordinator lets all compare them,
// and one write them (run_ending.cpp). Should the view end before this is told, the next one does this
// step again, and finds the same.
void ReplicaState::stop_before(Event event) {
  const std::string reason = not_finite_reason(event);
  books_.take_back();
  last_.forget();
  donor_.take_back();
  context_.phase.record_applied();
  if (context_.phase.is_entering() || receiver_.catch_up().observing()) return next_round();
  checkpoints_.keep_state_if_wanted();
  if (context_.phase.is_halted()) return answer_halt();
  context_.show(Activity::idle);
  if (context_.speaks()) context_.trouble(reason, {std::move(event)});
}

// ---- from one replica to another, or from a checkpoint

void ReplicaState::on(const Observing& message) {
  next_turn();
  receiver_.observe(message.donor);
  audits_.forget_own_proof();  // it may have been a member: what it is given now is compared anew
  context_.phase.observe();
  rollback_.end();
  if (canary("caught-up-early"))
    context_.port->to_node(CaughtUp{{}, message.view.number, message.view.records, message.donor});
  context_.assignment = Assignment{};
  context_.assignment.view = message.view;
  context_.assignment.reducer = message.reducer;
  batches_.enter(0, 0);
  donor_.drop_records();
  donor_.forget_newcomers();  // it may have been a member, and a donor
}

void ReplicaState::on(const TransferIn& message) {
  const CatchUp& given = receiver_.catch_up();
  if (message.view != context_.view().number || given.refuses(message.from)) return;
  if (message.kind == FrameKind::taken) return donor_.taken(message.from, message.number);
  if (message.kind == FrameKind::gathered) return checkpoints_.take_gathered(message);
  if (message.kind == FrameKind::part) {
    if (context_.in_parts() && !given.observing()) parts_.take(message);
    return;
  }
  if (receiver_.take(message)) catch_up();
}

// Applies the records that are there, in order.
void ReplicaState::catch_up() {
  const StateReceiver::Next next = receiver_.next();
  if (next.record) return record_taken(next.record, MeanIs::in_gradient);
  if (next.goes_on) next_round();
}

void ReplicaState::on(const PartTaken& message) {
  if (parts_.on(message)) next_round();
}

void ReplicaState::on(const Restored& message) {
  if (message.turn != context_.turn) return;
  if (!receiver_.catch_up().observing()) return gone_back(message);
  if (!message.error.empty()) return context_.trouble(message.error);
  stand_at(*message.place);
  receiver_.state_is_in_place();
  rollback_.in_place();  // as a member of a view before it may have had to; or have ended the run
  checkpoints_.forget_end();
  end_.forget();
  books_.report_told();
  catch_up();
}

void ReplicaState::on(const ReadAgain& message) {
  if (message.turn != context_.turn || context_.phase.is_halted()) return;
  donor_.drop_records();
  rollback_.begin(message.tries);
}

// One that cannot waits for what the coordinator makes of it.
void ReplicaState::gone_back(const Restored& message) {
  const StateRollback::Outcome outcome = rollback_.on(message);
  const bool halted = context_.phase.is_halted();
  if (outcome == StateRollback::Outcome::pending) return;
  if (outcome == StateRollback::Outcome::failed) return halted ? answer_halt() : void();
  const ReplicaPlace& place = *message.place;
  stand_at(place);
  checkpoints_.go_back(place.records);
  checkpoints_.forget_end();
  end_.forget();
  if (place.records > 0) resume(place);
  checkpoints_.stand_at_position();  // all alike: some had come further
  books_.report_told();              // this one may not have been there yet
  parts_.skip();
  receiver_.not_behind();
  halted ? answer_halt() : next_round();
}

void ReplicaState::restore(const std::shared_ptr<const Snapshot>& snapshot) {
  MUSTER_CHECK(context_.phase.is_halted() && between_rounds());
  stand_at(snapshot->place);
  context_.on_compute_thread([snapshot](TrainerState& trainer) { muster::restore(trainer, *snapshot); });
}

void ReplicaState::stand_at(const ReplicaPlace& place) {
  books_.restore(place);
  last_.forget();
  context_.trainer().progress->trained(context_.position->samples());
  check_.forget_block();
  checkpoints_.stand_at_position();
}

void ReplicaState::resume(const ReplicaPlace& place) {
  const std::string reason = books_.resume(place);
  if (!reason.empty()) return context_.trouble("the checkpoint cannot be gone on from: " + reason);
  checkpoints_.stand_at_position();
}

// ---- the end

void ReplicaState::on(const Written& message) {
  if (checkpoints_.on(message)) end_.report(message.state_sha256, message.path);
}

replica_actor::behavior_type replica(ReplicaState::Self self, ReplicaSetup setup) {
  self->state.start(self, std::move(setup));
  return {
      // views
      [=](const Assignment& message) { self->state.on(message); }, [=](const Begin&) { self->state.go_on(); },
      [=](const ViewClosed& message) { self->state.on(message); },
      [=](const Adopted& message) { self->state.on(message); },
      // a step
      [=](const MicroBatch& message) { self->state.on(message); },
      [=](const Computed& message) { self->state.on(message); },
      [=](const RoundDone& message) { self->state.on(message); },
      [=](const Updated& message) { self->state.on(message); },
      // its audits, backup tasks and comparisons of weights
      [=](const AuditShardReply& message) { self->state.on(message); },
      [=](const Audited& message) { self->state.on(message); },
      [=](const RunBackupTask& message) { self->state.on(message); },
      [=](const Weighed& message) { self->state.on(message); },
      // states, records and parts from one replica to another
      [=](const DonateTo& message) { self->state.on(message); },
      [=](const StateCopied& message) { self->state.on(message); },
      [=](const StateOverdue& message) { self->state.on(message); },
      [=](const Observing& message) { self->state.on(message); },
      [=](const TransferIn& message) { self->state.on(message); },
      [=](const PartTaken& message) { self->state.on(message); },
      // back to a checkpoint, or a newcomer's state
      [=](const Restored& message) { self->state.on(message); },
      [=](const ReadAgain& message) { self->state.on(message); },
      // checkpoints and the end of the job
      [=](const Snapped& message) { self->state.on(message); },
      [=](const Written& message) { self->state.on(message); },
      [=](const WriteAgain& message) { self->state.on(message); },
      [=](const WriteOverdue& message) { self->state.on(message); },
      [=](const KeepState&) { self->state.keep_state(); },
      [=](const Hashed& message) { self->state.on(message); }};
}

}  // namespace muster
