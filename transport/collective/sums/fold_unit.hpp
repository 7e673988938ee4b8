// What adds up the sums of a view's members, and the memory that they come into: the host's, unless something
// else is handed in, whose memory the transport reads and writes by itself (a GPU's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/collective/sums/canonical_tree.hpp"

namespace muster {

/// Of one reduction, and used by its thread alone. All values that it is given lie in its memory, those of
/// `pairs` apart. What it throws, an Error, ends the reduction.
class FoldUnit {
 public:
  virtual ~FoldUnit() = default;

  /// Memory for so many elements, with any content; it stays until this object's end.
  virtual float* make(std::size_t elements) = 0;

  /// Begins what fold() of canonical_tree.hpp does. Until it has ended the operands stay as they are, and
  /// nobody reads `out`. Folds end in the order in which they were begun. Returns its number, from 1 on.
  virtual std::uint64_t fold(const FoldProgram& program, std::span<const float* const> operands,
                             std::size_t count, float divisor, float* out) = 0;
  /// The number of the last one that has ended; 0: none has.
  virtual std::uint64_t ended() = 0;

  /// Until all that was begun has ended, or has failed: then nothing reads operands or writes any more.
  virtual void wait() noexcept = 0;

  /// To the host, of values that are final: for each i with two elements from i * stride on, these two.
  virtual void pairs(std::span<const float> values, std::size_t stride, std::vector<float>& out) = 0;
};

}  // namespace muster
