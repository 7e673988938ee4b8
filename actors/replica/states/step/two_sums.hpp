// A step whose gradients are added up in two sums: the first ones are sketches, and each shard's second ones
// follow from their mean (PowerSGD: Vogels et al., 2019). What is known of the shards at the first is said
// with the second. Pure. For one thread at a time.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "transport/collective/rounds/round.hpp"

namespace muster {

class TwoSums {
 public:
  /// A step begins. `two`: it has a first sum; else there is nothing to say with a second.
  void begin(bool two, const std::vector<ShardReport>& shards) {
    first_ = two;
    metrics_.clear();
    shards_ = two ? shards : std::vector<ShardReport>{};
  }
  /// Whether the first sums are under way.
  bool in_first() const { return first_; }
  void first_computed(const std::vector<ShardMetrics>& metrics) { metrics_ = metrics; }
  void first_reduced() { first_ = false; }
  /// Of this replica's shards.
  const std::vector<ShardReport>& shards() const { return shards_; }
  bool any_present() const {
    return std::any_of(shards_.begin(), shards_.end(), [](const auto& shard) { return shard.present(); });
  }
  /// The losses that were computed with the first sums.
  const std::vector<ShardMetrics>& metrics() const { return metrics_; }

 private:
  bool first_ = false;
  std::vector<ShardReport> shards_;
  std::vector<ShardMetrics> metrics_;
};

}  // namespace muster
