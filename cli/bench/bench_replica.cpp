#include "cli/bench/bench_replica.hpp"

#include <bit>

#include <nlohmann/json.hpp>

#include "cli/bench/bench_values.hpp"
#include "gpu/optimizer/state_hash.hpp"

namespace muster::cli {

std::string encode(const BenchResult& result) {
  return nlohmann::json{{"times_us", result.times_us}, {"correct", result.correct}}.dump();
}

BenchResult decode_bench_result(const std::string& note) {
  const auto json = nlohmann::json::parse(note);
  return {json.at("times_us").get<std::vector<double>>(), json.at("correct").get<bool>()};
}

void BenchReplicaState::start(Self self, ReplicaSetup setup, BenchOptions options) {
  self_ = self;
  setup_ = std::move(setup);
  options_ = options;
}

void BenchReplicaState::on(const Assignment& message) {
  assignment_ = message;
  reducer_ = caf::actor_cast<reducer_actor>(message.reducer);
  setup_.trainer->accumulator = std::make_unique<Accumulator>(
      setup_.trainer->job.train.shards, assignment_.begin, assignment_.end, setup_.trainer->state.size());
}

// Outside the timed part: this iteration's data.
void BenchReplicaState::fill() {
  setup_.compute->submit([trainer = setup_.trainer, me = replica_actor(self_), iteration = iteration_,
                          begin = assignment_.begin, end = assignment_.end] {
    Computed computed;
    trainer->accumulator->start();
    for (std::uint32_t shard = begin; shard < end; ++shard) {
      const auto leaf = trainer->accumulator->leaf();
      fill_bench_values(iteration, shard, leaf);
      trainer->accumulator->add_leaf();
    }
    computed.nodes = trainer->accumulator->nodes();
    caf::anon_send(me, std::move(computed));
  });
}

RoundHeader BenchReplicaState::header(RoundKind kind) const {
  RoundHeader header;
  header.round = round_;
  header.kind = kind;
  header.epoch = 1;
  header.step = iteration_ + 1;
  header.applied = iteration_;
  header.record_hash = record_hash_;
  if (kind != RoundKind::train) return header;
  for (std::uint32_t shard = assignment_.begin; shard < assignment_.end; ++shard) {
    header.shards.push_back({shard, 0, 1, 0, iteration_, 1, 1.0});
  }
  return header;
}

void BenchReplicaState::on(const Computed& message) {
  nodes_ = message.nodes;
  barriers_ = 0;
  barrier();
}

// A round without elements is a barrier. All ranks leave the second one at the same time, for nobody has to
// wake up for it; the third one is behind the timed round, so that nobody checks while others still reduce.
void BenchReplicaState::barrier() {
  ++barriers_;
  self_->send(reducer_, Open{assignment_.view.number, header(RoundKind::evaluate), nullptr, 0, nullptr});
  self_->send(reducer_, Contribute{assignment_.view.number, round_, {}, {}, nullptr});
}

void BenchReplicaState::on(const RoundDone& message) {
  record_hash_ = message.record->hash;
  ++round_;
  if (message.record->kind == RoundKind::train) {
    traffic_ += message.record->sent;
    const auto took = self_->clock().now() - begun_;
    if (iteration_ >= options_.warm_up) {
      result_.times_us.push_back(std::chrono::duration<double, std::micro>(took).count());
    }
    return barrier();
  }
  if (barriers_ == 1) return barrier();
  if (barriers_ == 3) return check();
  begun_ = self_->clock().now();
  reduce();
}

void BenchReplicaState::reduce() {
  auto& result = setup_.trainer->gradient.host();
  self_->send(reducer_, Open{assignment_.view.number, header(RoundKind::train), result.data(), result.size(),
                             setup_.trainer});
  self_->send(reducer_, Contribute{assignment_.view.number, round_, nodes_, {}, setup_.trainer});
}

// Outside the timed part: every element.
void BenchReplicaState::check() {
  const bool flip = options_.flip_at == static_cast<std::int64_t>(iteration_) && setup_.slot == 0;
  const std::uint32_t ranks = setup_.trainer->job.train.shards;
  const bool last = iteration_ + 1 == options_.warm_up + options_.iterations;
  setup_.compute->submit(
      [trainer = setup_.trainer, me = replica_actor(self_), iteration = iteration_, ranks, flip, last] {
        auto& values = trainer->gradient.host();
        if (flip && !values.empty()) {
          float& victim = values[values.size() / 2];
          victim = std::bit_cast<float>(std::bit_cast<std::uint32_t>(victim) ^ 1u);
        }
        Hashed hashed;
        hashed.bytes = bench_mismatches(iteration, ranks, values);
        if (last) hashed.state_sha256 = state_sha256(host_state(*trainer));
        caf::anon_send(me, std::move(hashed));
      });
}

void BenchReplicaState::on(const Hashed& message) {
  if (message.bytes > 0) result_.correct = false;
  if (++iteration_ < options_.warm_up + options_.iterations) return fill();
  ReplicaDone done;
  done.slot = setup_.slot;
  done.steps = iteration_;
  done.state_sha256 = message.state_sha256;
  done.note = encode(result_);
  done.traffic = traffic_;
  self_->send(setup_.node, done);
}

replica_actor::behavior_type bench_replica(BenchReplicaState::Self self, ReplicaSetup setup,
                                           BenchOptions options) {
  self->state.start(self, std::move(setup), options);
  return {[=](const Begin&) { self->state.fill(); },
          [](const MicroBatch&) {},
          [=](const Computed& message) { self->state.on(message); },
          [=](const RoundDone& message) { self->state.on(message); },
          [](const Updated&) {},
          [=](const Hashed& message) { self->state.on(message); },
          [](const Snapped&) {},
          [](const Written&) {},
          [](const ViewClosed&) {},
          [=](const Assignment& message) { self->state.on(message); },
          [](const TransferIn&) {},
          [](const Observing&) {},
          [](const DonateTo&) {},
          [](const StateCopied&) {},
          [](const Restored&) {},
          [](const Adopted&) {},
          [](const RunBackupTask&) {},
          [](const KeepState&) {},
          [](const PartTaken&) {},
          [](const WriteAgain&) {},
          [](const WriteOverdue&) {},
          [](const StateOverdue&) {},
          [](const ReadAgain&) {},
          [](const AuditShardReply&) {},
          [](const Audited&) {},
          [](const Weighed&) {}};
}

}  // namespace muster::cli
