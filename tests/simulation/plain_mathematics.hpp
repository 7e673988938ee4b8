// The mathematics of a simulated job in plain loops: data, model and optimizer of the oracle. Nothing here
// calls the product, so that a mistake of its reader, model or optimizer is a difference and not an
// agreement.
//
// Written from the contract: docs/job.md (source "synthetic", model "linear", `train.optimizer`), and
// actors/pipeline/{mix,permutation,dealing}.hpp, whose comments fix the order of samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "muster/config/job.hpp"

namespace muster::simulation::plain {

struct Sample {
  std::vector<float> x, y;
};

/// One shard's part of one step. No rows: the shard has ended.
struct MicroBatch {
  std::uint64_t first = 0;  ///< of its samples, counted within the shard
  std::vector<const Sample*> rows;
};

/// The source "synthetic" behind `skip`, `take`, the epoch's permutation and the dealing to shards. What it
/// hands out points into it.
class Data {
 public:
  explicit Data(const Job& job);

  MicroBatch train(std::uint32_t shard, std::uint64_t epoch, std::uint64_t turn);
  MicroBatch test(std::uint32_t shard, std::uint64_t turn) const;

  bool has_test() const { return !test_.empty(); }
  std::uint64_t samples() const { return train_.size(); }  ///< of an epoch
  std::uint64_t dropped() const;                           ///< of an epoch, by `remainder = "drop"`

 private:
  Sample sample(std::uint64_t key, const std::vector<float>& weights) const;
  MicroBatch cut(std::uint32_t shard, std::uint64_t turn, const std::vector<Sample>& samples,
                 const std::vector<std::uint64_t>& order) const;

  std::uint64_t seed_, inputs_, outputs_, shards_, batch_;
  bool shuffles_, drops_;
  std::vector<Sample> train_, test_;
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
