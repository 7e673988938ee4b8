// PowerSGD at one replica (train.compression.name = "powersgd"; Vogels et al., "PowerSGD: Practical Low-Rank
// Gradient Compression for Distributed Optimization", 2019). A step has two sums: of projections, and of what
// each shard projects back on what all make of the former. For the compute thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/optimizer/optimizer.hpp"
#include "gpu/optimizer/powersgd.hpp"
#include "muster/model.hpp"

namespace muster {

class LowRank {
 public:
  LowRank(const Layout& layout, std::uint32_t rank);

  /// Elements of the first sums and of the second; they lie behind each other in the reduced vector.
  std::size_t first() const { return powersgd_.first(); }
  std::size_t second() const { return powersgd_.second(); }
  const PowerSgd& algorithm() const { return powersgd_; }

  /// As at the job's beginning.
  void begin(std::uint64_t seed) { powersgd_.begin(seed, q_); }
  /// What is kept from step to step; all replicas hold the same.
  Optimizer::Slot slot() const { return {"powersgd.q", std::span(const_cast<LowRank*>(this)->q_)}; }

  /// A vector for the gradient of one shard; `project` and `mean` write over it.
  std::span<float> work() { return work_; }
  /// The gradient in `work` becomes a part of the first sums, with what compression had left out of the shard
  /// before. `copy` keeps both for the second sums.
  void project(std::span<const float> left_out, std::span<float> copy, std::span<float> leaf);
  /// What all make of the first sums. The sums stay as they are: they are part of the step's record.
  std::span<const float> orthonormal(std::span<const float> reduced);
  /// The mean gradient that follows from both sums.
  std::span<const float> mean(std::span<const float> reduced);
  /// What the next step's compression takes from these sums.
  void keep(std::span<const float> reduced) { powersgd_.keep(reduced.subspan(first()), q_); }

 private:
  PowerSgd powersgd_;
  std::vector<float> orthonormal_, q_, work_;
};

}  // namespace muster
