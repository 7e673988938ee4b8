// A run that is given up at any round and gone on with in fresh replicas, from a snapshot, is the run that
// was never given up: same bits, same ledger, same events.
#include <gtest/gtest.h>

#include <map>

#include "actors/replica/replica.hpp"
#include "tests/simulation/oracle.hpp"
#include "tests/simulation/simulate.hpp"
#include "tests/support/linear_job.hpp"
#include "tests/support/whole_snapshot.hpp"

namespace muster::simulation {
namespace {

using Kept = std::map<std::uint64_t, std::vector<std::byte>>;  // snapshots by records

// What a wrapped replica is given, beside its parts.
struct Wrapping {
  std::shared_ptr<const Snapshot> from;  // may be null
  Kept* kept = nullptr;
};

// A replica that keeps a snapshot of every round.
replica_actor::behavior_type wrapped(ReplicaState::Self self, ReplicaSetup setup, Wrapping wrapping) {
  auto& state = self->state;
  state.start(self, std::move(setup));
  if (wrapping.from) state.restore(wrapping.from);
  const auto keep = [self] {
    if (self->state.between_rounds()) self->state.take_snapshot(SnapshotUse::donation);
  };
  return {[=](const Begin&) { self->state.go_on(); },
          [=](const MicroBatch& message) { self->state.on(message); },
          [=](const Computed& message) { self->state.on(message); },
          [=](const RoundDone& message) {
            self->state.on(message);
            keep();
          },
          [=](const Updated& message) {
            self->state.on(message);
            keep();
          },
          [=](const Hashed& message) { self->state.on(message); },
          [=](const Snapped& message) {
            if (message.snapshot->place.finished) return;  // comes only if others are slower
            Snapshot snapshot = *message.snapshot;
            seal(snapshot);
            const auto bytes = encode_snapshot(snapshot);
            const auto [at, is_new] = wrapping.kept->emplace(snapshot.place.records, bytes);
            EXPECT_EQ(at->second, bytes) << "replicas differ after record " << at->first;
          },
          [=](const Written& message) { self->state.on(message); },
          [=](const ViewClosed& message) { self->state.on(message); },
          [=](const Assignment& message) { self->state.on(message); },
          [=](const TransferIn& message) { self->state.on(message); },
          [=](const Observing& message) { self->state.on(message); },
          [=](const DonateTo& message) { self->state.on(message); },
          [=](const StateCopied& message) { self->state.on(message); },
          [=](const StateOverdue& message) { self->state.on(message); },
          [=](const Restored& message) { self->state.on(message); },
          [=](const Adopted& message) { self->state.on(message); },
          [](const RunBackupTask&) {},
          [=](const KeepState&) { self->state.keep_state(); },
          [=](const PartTaken& message) { self->state.on(message); },
          [=](const WriteAgain& message) { self->state.on(message); },
          [=](const WriteOverdue& message) { self->state.on(message); },
          [=](const ReadAgain& message) { self->state.on(message); },
          [=](const AuditShardReply& message) { self->state.on(message); },
          [=](const Audited& message) { self->state.on(message); },
          [=](const Weighed& message) { self->state.on(message); }};
}

struct Outcome {
  SimulationResult result;
  Kept kept;
  std::vector<std::string> events;  // of the data, without their times
};

Outcome run_from(const Job& job, std::shared_ptr<const Snapshot> from, std::uint64_t seed) {
  const Registry registry = builtin_registry();
  Outcome outcome;
  SimulationOptions options{.seed = seed};
  options.spawn_replica = [&](caf::actor_system& system, ReplicaSetup setup) {
    return system.spawn(wrapped, std::move(setup), Wrapping{from, &outcome.kept});
  };
  options.on_event = [&](const Event& event, const auto&) {
    if (event.name != "short" && event.name != "exhausted") return;
    Event timeless = event;
    timeless.time_ms = 0;
    outcome.events.push_back(to_json_line(timeless));
  };
  outcome.result = simulate(job, registry, options);
  return outcome;
}

Job job_with(OptimizerKind kind, Remainder remainder) {
  Job job = testing::linear_job({.samples = 47, .test_samples = 11});
  job.name = "snapshots";
  job.seed = 4;
  job.train.shards = 4;
  job.train.batch = 3;
  job.train.epochs = 3;
  job.train.remainder = remainder;
  job.train.optimizer.kind = kind;
  job.train.optimizer.learning_rate.initial = 0.03;
  if (kind == OptimizerKind::sgd) job.train.optimizer.momentum = 0.9;
  job.cluster.replicas = 2;
  return job;
}

// The events of the whole run that a run from this place still has to tell: the last ones.
void expect_last(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  ASSERT_LE(some.size(), all.size());
  EXPECT_TRUE(std::equal(some.rbegin(), some.rend(), all.rbegin()));
}

void expect_goes_on_from_everywhere(Job job) {
  const auto oracle = train_plainly(job, builtin_registry());
  const Outcome whole = run_from(job, nullptr, 1);
  ASSERT_TRUE(whole.result.report);
  ASSERT_EQ(whole.result.report->weights_sha256, oracle.weights_sha256);
  // The beginning, which is compared; three ends of an epoch, two evaluations.
  ASSERT_EQ(whole.kept.size(), 1 + oracle.steps + 5);
  std::size_t events_left = whole.events.size();
  for (const auto& [records, bytes] : whole.kept) {
    const auto snapshot = decode_snapshot(bytes, {job.train.shards, 10, 10});
    ASSERT_TRUE(snapshot) << records;
    job.cluster.replicas = 1 + static_cast<std::uint32_t>(records) % 4;
    const Outcome rest = run_from(job, std::make_shared<const Snapshot>(*snapshot), records + 10);
    ASSERT_TRUE(rest.result.report) << "hung after record " << records;
    const Report& report = *rest.result.report;
    ASSERT_EQ(report.outcome, "completed") << report.reason;
    EXPECT_EQ(report.weights_sha256, oracle.weights_sha256) << "from record " << records;
    EXPECT_EQ(report.samples, whole.result.report->samples);
    EXPECT_EQ(report.steps, oracle.steps);
    expect_last(rest.events, whole.events);
    EXPECT_LE(rest.events.size(), events_left) << "from record " << records;
    events_left = rest.events.size();
    for (const auto& [later, same] : rest.kept)
      EXPECT_EQ(whole.kept.at(later), same) << records << " " << later;
    const std::size_t compared = rest.kept.count(records);  // by several replicas, before they go on
    EXPECT_EQ(rest.kept.size(), whole.kept.rbegin()->first - records + compared);
    const auto& all = whole.result.report->epochs;
    for (const EpochEnd& row : report.epochs) EXPECT_TRUE(row.same_as(all.at(row.epoch - 1)));
    EXPECT_EQ(report.epochs.size(), all.size()) << "a replica that is done brings the earlier ones";
  }
}

TEST(Snapshot, AtEveryRoundWithMomentum) {
  expect_goes_on_from_everywhere(job_with(OptimizerKind::sgd, Remainder::keep));
}

TEST(Snapshot, AtEveryRoundWithAdam) {
  expect_goes_on_from_everywhere(job_with(OptimizerKind::adam, Remainder::drop));
}

TEST(Snapshot, AtEveryRoundWithAdamW) {
  expect_goes_on_from_everywhere(job_with(OptimizerKind::adamw, Remainder::pad));
}

TEST(Snapshot, OneOfAnotherModelEndsTheRunAndSaysWhy) {
  const Job job = job_with(OptimizerKind::sgd, Remainder::keep);
  Snapshot other;
  other.state.resize(3);
  const Outcome outcome = run_from(job, std::make_shared<const Snapshot>(other), 5);
  ASSERT_TRUE(outcome.result.report);
  EXPECT_EQ(outcome.result.report->outcome, "failed");
  EXPECT_NE(outcome.result.report->reason.find("another model or optimizer"), std::string::npos);
}

}  // namespace
}  // namespace muster::simulation
