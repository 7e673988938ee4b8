// PowerSGD: low-rank approximation of gradients (Vogels, Karimireddy and Jaggi 2019, algorithms 1 and 2),
// with error feedback and a warm start.
//
// Each parameter that is a matrix M (first dimension times all others) is sent as two thin ones, in two sums
// over the shards: P = M Q, made orthonormal by everybody, then Q = M^T P; what all apply is P Q^T. Q is kept
// for the next step. All that is no matrix, or would not become smaller, goes as it is, with the first sum.
//
// The same arguments give the same bits on any machine: sums are formed in a fixed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muster/model.hpp"

namespace muster {

/// One thread at a time.
class PowerSgd {
 public:
  PowerSgd(const Layout& layout, std::uint32_t rank);

  /// Elements of what a shard adds first (P of all matrices, then all that goes as it is, buffers too), and
  /// second (Q of all matrices).
  std::size_t first() const { return first_; }
  std::size_t second() const { return second_; }

  // `q`: as many elements as there are parameters; that of a matrix lies where the matrix begins.
  // `gradient`, `change`: the whole flat vector, or its parameters where that says so.

  /// For the first step; a function of the seed.
  void begin(std::uint64_t seed, std::span<float> q) const;
  /// What a shard adds first, of a whole gradient.
  void project(std::span<const float> gradient, std::span<const float> q, std::span<float> first) const;
  /// The P of `first` become orthonormal, in place (Gram-Schmidt); a column that is but rounding becomes 0.
  void orthonormalize(std::span<float> first) const;
  /// What a shard adds second. `parameters`: its gradient's.
  void project_back(std::span<const float> parameters, std::span<const float> first,
                    std::span<float> second) const;
  /// What is left of a shard's gradient when that is taken away; nothing of what went as it is.
  void leave(std::span<const float> first, std::span<const float> second, std::span<float> parameters) const;
  /// What all apply, from the means of what shards added.
  void change(std::span<const float> first, std::span<const float> second, std::span<float> change) const;
  /// The mean of what shards added second is kept for the next step.
  void keep(std::span<const float> second, std::span<float> q) const;

 private:
  struct Matrix {
    std::size_t offset = 0, rows = 0, columns = 0, rank = 0;
    std::size_t p = 0, q = 0;  // where its own lie; column after column
  };
  struct Plain {
    std::size_t offset = 0, count = 0, at = 0;
  };

  std::vector<Matrix> matrices_;
  std::vector<Plain> plain_;
  std::size_t first_ = 0, second_ = 0, projections_ = 0;
};

}  // namespace muster
