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
/// Most of the time one pass over the elements is enough: a magnitude guessed from a sample leaves few
/// candidates to choose from. If the guess was wrong all are looked at again; the bits never depend on it.
///
/// The same arguments give the same bits. One thread at a time; nothing is allocated after the constructor.
class TopK {
 public:
  /// Keeps `ratio` of the elements, rounded up, and at least one.
  TopK(std::size_t elements, double ratio);

  std::size_t kept() const { return kept_; }

  /// With what was `left_out` before added to it, keeps the `kept()` elements of `gradient` that are largest
  /// in magnitude; of equal ones those in front. NaN is the largest of all. All others
  /// become +0. `leaves_out` gets what is left out now: those others, and 0 for what is kept. All have
  /// `elements` elements; none overlap.
  void compress(std::span<float> gradient, std::span<const float> left_out, std::span<float> leaves_out);

 private:
  struct Last {
    std::uint32_t magnitude = 0;
    std::size_t surplus = 0;  ///< so many of just this magnitude, the ones at the end, are not wanted
  };

  std::uint32_t guess(std::span<const float> gradient, std::span<const float> left_out);
  std::size_t split(std::uint32_t bound, std::span<float> gradient, std::span<const float> left_out,
                    std::span<float> leaves_out);
  void collect(std::uint32_t bound, std::span<const float> values, std::size_t first);
  Last last_of(std::span<const float> values, std::size_t wanted);
  void count_digit(std::span<const float> values, std::uint32_t prefix, unsigned shift, std::uint32_t bins);
  void keep_of_candidates(std::span<float> gradient, std::span<float> leaves_out);
  void keep_of_all(std::span<float> gradient, std::span<float> leaves_out);

  std::size_t elements_;
  std::size_t kept_;
  std::size_t apart_;   ///< one block of elements of so many is sampled
  std::size_t wanted_;  ///< the guess is the magnitude of so many of the sample; 0: no guess
  std::vector<std::uint32_t> counts_;
  std::vector<float> candidates_;    ///< the first `found_` are those of this gradient
  std::vector<std::size_t> places_;  ///< where each of them is
  std::size_t found_ = 0;
};

}  // namespace muster
