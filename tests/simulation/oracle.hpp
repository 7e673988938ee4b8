// The oracle: one process, one plain loop; reader, model and optimizer of its own (plain_mathematics.hpp), no
// reducer, no tree code of the product, no actors. What it computes is what every run must go through, record
// by record, and end with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "muster/job.hpp"
#include "muster/registry.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster::simulation {

/// What every replica must hold after one record.
struct OracleRecord {
  RoundKind kind = RoundKind::train;
  std::uint64_t epoch = 0;
  bool is_step = false;    ///< else the end of an epoch, or an evaluation
  std::uint64_t step = 0;  ///< steps applied after it
  double weight = 0;
  std::vector<ShardReport> shards;    ///< train
  std::vector<ShardMetrics> metrics;  ///< evaluate
  std::uint64_t state = 0;            ///< fingerprint after it
  std::uint64_t optimizer = 0;        ///< fingerprint of the optimizer's vectors after it, in declared order
  std::uint64_t shard_states = 0;     ///< likewise, of what compression left out of each shard's gradients
};

struct OracleEpoch {
  std::uint64_t used = 0, dropped = 0;
  bool complete = false;
  std::uint64_t steps = 0, samples = 0;  ///< of the job up to its end
  double train_loss = 0;                 ///< mean over the epoch
  std::optional<double> loss;            ///< mean over the test set, behind it; none: no evaluation
};

struct OracleResult {
  std::uint64_t steps = 0, samples = 0;
  std::string weights_sha256;
  std::vector<OracleRecord> records;
  std::vector<OracleEpoch> epochs;
};

/// What steps went on without, by the number of their record, from 1: shards.
using LeftOut = std::map<std::uint64_t, std::set<std::uint32_t>>;

/// The shards that a record went on without.
std::set<std::uint32_t> left_out_of(std::span<const ShardReport> reports);

/// Trains the job to its end. For jobs with `epochs`, or with `steps` within a bounded `repeat`, with the
/// source "synthetic" and the model "linear". The registry serves PowerSGD alone, whose arithmetic is the
/// product's.
OracleResult train_plainly(const Job& job, const Registry& registry, const LeftOut& left_out = {});

/// A hash of a state's bits, faster than SHA-256.
std::uint64_t fingerprint_of(std::span<const float> state);

}  // namespace muster::simulation
