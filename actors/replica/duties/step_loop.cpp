#include "actors/replica/duties/step_loop.hpp"

#include <algorithm>
#include <utility>

#include "actors/replica/context/own_round.hpp"

namespace muster {

// Shards that take no part in the round are not asked: they count as ended.
void StepLoop::gather(const Cursor& cursor) {
  batches_.begin(cursor);
  context_.show(Activity::loading);
  times_.pass(context_.now());
  audits_.begin(cursor);
  const Assignment& assignment = context_.assignment;
  for (std::uint32_t shard = assignment.begin; shard < assignment.end; ++shard) {
    const std::size_t place = shard - assignment.begin;
    if (cursor.mode == Mode::evaluate ||
        (context_.schedule().takes_part(shard) && !left_out(context_.view(), *context_.position, shard))) {
      context_.port->to_shard(assignment.shards[place], Need{cursor});
    } else {
      batches_.skip(shard);
    }
  }
  if (batches_.complete()) gathered();  // a member with nothing to add says so
}

void StepLoop::on(const MicroBatch& message, const caf::strong_actor_ptr& sender) {
  const Item& item = message.item;
  const Assignment& assignment = context_.assignment;
  if (context_.phase.is_halted() || !batches_.holds(item.shard) ||
      sender != assignment.shards[item.shard - assignment.begin]) {
    return;  // of a view that is over
  }
  batches_.take(item);
  context_.show(Activity::loading, item.shard);
  if (batches_.complete()) gathered();
}

void StepLoop::gathered() {
  times_.gathered(context_.now());
  if (batches_.cursor().mode == Mode::train) {
    compute_step_of_shards();
  } else {
    evaluate_next_batches();
  }
}

ShardReport StepLoop::report_of(const Item& item) const {
  ShardReport report;
  report.shard = item.shard;
  report.ended = item.ended ? 1 : 0;
  report.first = item.range.first;
  report.count = item.range.count;
  if (left_out(context_.view(), *context_.position, item.shard)) report.ended = ShardReport::kLeftOut;
  if (item.ended) return report;
  report.rows = item.batch->rows;
  report.is_short = !context_.setup.facts.unit_is_batch && report.rows < context_.job().train.batch ? 1 : 0;
  report.weight = context_.trainer().model->weight(*item.batch);
  return report;
}

void StepLoop::compute_step_of_shards() {
  TrainerState& trainer = context_.trainer();
  const View& view = context_.view();
  const bool sketching = trainer.low_rank != nullptr;
  RoundHeader opening =
      round_header(context_, sketching ? RoundKind::sketch : RoundKind::train, weights_.block());
  for (const Item& item : batches_.items()) opening.shards.push_back(report_of(item));
  two_sums_.begin(sketching, opening.shards);
  const ReducedElements elements = reduced_elements(trainer);
  const std::size_t of_step = sums_stay(trainer, view) ? 0 : elements.step;
  float* const result = trainer.gradient.result(view.sums_on_gpus);
  context_.port->to_reducer(
      Open{view.number, opening, result, sketching ? elements.sketch : of_step, context_.setup.trainer});
  const bool any =
      std::any_of(opening.shards.begin(), opening.shards.end(), [](const auto& w) { return w.present(); });
  audits_.own_begun();
  if (!any) {
    times_.computes_nothing();
    return audits_.own_done({});
  }
  context_.show(Activity::computing, context_.assignment.begin);
  context_.compute([items = batches_.items(), step = opening.step, turn = context_.turn,
                    offering = offers()](TrainerState& computing) {
    return compute_step(computing, *computing.accumulator, items, step, turn, offering);
  });
  audits_.compute_if_ready();
}

// Buckets go to the reducer while the rest is computed.
Offering StepLoop::offers() const {
  const TrainerState& trainer = context_.trainer();
  const View& view = context_.view();
  Offering offering;
  offering.bucket_elements = bucket_elements(trainer.job, trainer.state.size(), view.replicas.size());
  offering.stays = sums_stay(trainer, view);
  offering.audited = audits_.audited_here();
  offering.done = [post = context_.port->posts_to_reducer(), number = view.number, round = context_.round,
                   keep = context_.setup.trainer](const std::vector<NodeValue>& sums, ElementRange bucket) {
    post(Offer{number, round, sums, bucket, keep});
  };
  return offering;
}

void StepLoop::computed(const Computed& message) {
  if (batches_.cursor().mode == Mode::evaluate) {
    times_.evaluated(context_.now());
    evaluation_ = message.metrics;
    return gather({Mode::evaluate, batches_.cursor().epoch, batches_.cursor().step + 1});
  }
  const bool second = context_.trainer().low_rank && !two_sums_.in_first();
  times_.computed(context_.now(), second);
  if (two_sums_.in_first()) {
    two_sums_.first_computed(message.metrics);
    return contribute(context_, {message.nodes, {}, {}});
  }
  context_.trainer().progress->measured(context_.schedule().steps() + 1, times_.step_seconds());
  audits_.own_done({message.nodes, second ? two_sums_.metrics() : message.metrics, message.audits});
}

// Should the view end on the way, the step begins again.
void StepLoop::sketched(const RoundRecord& sketch) {
  two_sums_.first_reduced();
  times_.reduced(sketch, context_.now());
  TrainerState& trainer = context_.trainer();
  RoundHeader opening = round_header(context_, RoundKind::train, weights_.block());
  opening.shards = two_sums_.shards();
  opening.record_hash = sketch.hash;
  context_.port->to_reducer(Open{context_.view().number, opening,
                                 trainer.gradient.result(false) + trainer.low_rank->first(),
                                 reduced_elements(trainer).step, context_.setup.trainer});
  // With nothing to add there is nothing to wait for: an earlier turn may still compute.
  if (sketch.weight == 0 || !two_sums_.any_present())
    return contribute(context_, {{}, two_sums_.metrics(), {}});
  context_.show(Activity::computing, context_.assignment.begin);
  context_.compute(
      [items = batches_.items(), step = opening.step, turn = context_.turn](TrainerState& computing) {
        return compute_second(computing, *computing.accumulator, items, step, turn);
      });
}

void StepLoop::update(const LastRecord& last, bool mean_wanted, bool twice) const {
  context_.compute([record = last.record(), twice, mean = last.mean(), mean_wanted](TrainerState& trainer) {
    Updated updated;
    updated.not_finite = apply_step(trainer, *record, mean, mean_wanted);
    updated.weights = weigh_block(trainer, record->step);
    if (trainer.clipping) updated.gradient_norm = trainer.clipping->norm();
    if (twice) apply_step(trainer, *record, mean);
    return updated;
  });
}

void StepLoop::evaluate() {
  evaluation_.clear();
  context_.port->to_reducer(Open{context_.view().number,
                                 round_header(context_, RoundKind::evaluate, weights_.block()), nullptr, 0,
                                 nullptr});
  gather(context_.schedule().cursor());
}

void StepLoop::evaluate_next_batches() {
  if (batches_.all_ended()) {
    times_.pass(context_.now());
    contribute(context_, {{}, evaluation_, {}});
    return;
  }
  context_.show(Activity::computing, context_.assignment.begin);
  context_.compute([items = batches_.items(), sums = evaluation_](TrainerState& trainer) {
    Computed computed;
    computed.metrics = sums;
    compute_evaluation(trainer, items, computed.metrics);
    return computed;
  });
}

}  // namespace muster
