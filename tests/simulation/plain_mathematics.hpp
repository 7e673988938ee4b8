// The mathematics of a simulated job in plain loops: data, model and optimizer of the oracle. Nothing here
// calls the product, so that a mistake of its reader, model or optimizer is a difference and not an
// agreement.
//
// Written from the contract: docs/reference/job.md (source "synthetic", model "linear", `train.optimizer`),
// and actors/pipeline/{mix,permutation,dealing}.hpp, whose comments fix the order of samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muster/job.hpp"

namespace muster::simulation::plain {

struct Sample {
  std::vector<float> x, y;
};

/// What samples are made of.
struct Shape {
  std::uint64_t seed = 0, inputs = 0, outputs = 0;
};

/// Sample `index` of the training set of the source "synthetic", and of those in sources.hpp.
Sample sample_of(const Shape& shape, std::uint64_t index);

/// One shard's part of one step. No rows: the shard has ended.
struct MicroBatch {
  std::uint64_t first = 0;  ///< in the ledger's unit, counted within the shard
  std::uint64_t count = 0;
  std::vector<const Sample*> rows;
};

/// The sources "synthetic" (behind `skip`, `take`, the epoch's permutation and the dealing to shards),
/// "generated" and "ready". What it hands out points into it, for "generated" until it hands out more.
class Data {
 public:
  explicit Data(const Job& job);

  MicroBatch train(std::uint32_t shard, std::uint64_t epoch, std::uint64_t turn);
  MicroBatch test(std::uint32_t shard, std::uint64_t turn) const;

  bool has_test() const { return !test_.empty(); }
  /// Of an epoch, in the ledger's unit; none where generators alone know.
  std::optional<std::uint64_t> samples() const;
  bool counts_batches() const { return source_ == "ready"; }
  std::uint64_t dropped() const;  ///< of an epoch, by `remainder = "drop"`

 private:
  MicroBatch generated(std::uint32_t shard, std::uint64_t epoch, std::uint64_t turn);
  MicroBatch ready(std::uint32_t shard, std::uint64_t turn) const;
  MicroBatch cut(std::uint32_t shard, std::uint64_t turn, const std::vector<Sample>& samples,
                 const std::vector<std::uint64_t>& order) const;

  std::string source_;
  std::uint64_t seed_;
  Shape shape_;
  std::uint64_t shards_, batch_;
  bool shuffles_, drops_;
  std::uint64_t given_ = 0;           // `samples`, as the job says it
  std::vector<Sample> train_, test_;  // "generated": the micro-batch that was handed out last
  std::vector<std::vector<Sample>> ready_;
  std::uint64_t epoch_ = 0;
  std::vector<std::uint64_t> order_;  // of train_ in epoch_
  std::vector<std::uint64_t> test_order_;
};

/// Least squares: loss = sum of (W x + b - y)^2; parameters are W, row by row, then b.
class Linear {
 public:
  explicit Linear(const Job& job);

  std::size_t parameters() const { return outputs_ * inputs_ + outputs_; }
  std::vector<float> initial(std::uint64_t seed) const;
  /// Sum over the rows.
  std::vector<float> gradient(std::span<const float> state, const MicroBatch& batch) const;
  double loss(std::span<const float> state, const MicroBatch& batch) const;

 private:
  std::vector<float> errors(std::span<const float> state, const Sample& sample) const;

  std::size_t inputs_, outputs_;
};

/// Gradient descent (with momentum, with Nesterov's), Adam, AdamW, as PyTorch has them; the learning rate is
/// constant behind a linear warm-up.
class Optimizer {
 public:
  Optimizer(const OptimizerConfig& config, std::size_t parameters);

  /// `step` counts from 1.
  void update(std::uint64_t step, std::span<float> state, std::span<const float> gradient);

  /// What a checkpoint holds of it, one vector after the other; empty for plain descent.
  std::vector<float> vectors() const;

 private:
  void descend(double rate, std::span<float> state, std::span<const float> gradient);
  void adam(std::uint64_t step, double rate, std::span<float> state, std::span<const float> gradient);

  OptimizerConfig config_;
  std::vector<float> first_, second_;  // momentum; or the averages of Adam
};

}  // namespace muster::simulation::plain
