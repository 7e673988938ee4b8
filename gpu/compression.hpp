// Compression of one shard's gradient. The seam knows no shards and no steps: what is left out is given back
// to it the next time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace muster {

/// Top-k sparsification with error feedback (Stich, Cordonnier and Jaggi 2018, "Sparsified SGD with memory";
/// error feedback: Seide et al. 2014). Only the largest elements of a gradient go on; what is left out is
/// added to the next gradient, so nothing is lost, only late.
///
/// The same arguments give the same bits. One thread at a time; nothing is allocated after the constructor.
class TopK {
 public:
  /// Keeps `ratio` of the elements, rounded up, and at least one.
  TopK(std::size_t elements, double ratio);

  std::size_t kept() const { return kept_; }

  /// With what was `left_out` before added to it, keeps the `kept()` elements of `gradient` that are largest
  /// in magnitude; of equal ones those in front. What is not a number is the largest of all. All others
  /// become +0. `leaves_out` gets what is left out now: those others, and 0 for what is kept. All have
  /// `elements` elements; none overlap.
  void compress(std::span<float> gradient, std::span<const float> left_out, std::span<float> leaves_out);

 private:
  struct Threshold {
    std::uint32_t magnitude = 0;
    std::size_t equal = 0;  ///< so many of just this magnitude are kept
  };
  Threshold threshold(std::span<const float> values);

  std::size_t elements_;
  std::size_t kept_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace muster
