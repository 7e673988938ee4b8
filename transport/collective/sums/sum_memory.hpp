// Where an accumulator's sums lie, and what adds them up: the host's memory and its vector units, unless
// something else is handed in.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "transport/collective/sums/buckets.hpp"
#include "transport/collective/sums/wire.hpp"

namespace muster {

/// Of one accumulator, and used by its thread alone.
class SumMemory {
 public:
  virtual ~SumMemory() = default;

  /// One vector more; it stays until this object's end.
  virtual float* make() = 0;

  /// way[0] holds a leaf; each of those behind it gets the one in front of it added, as (own + other), in
  /// these elements. All are rounded, if the wire rounds.
  virtual void add_up(std::span<float* const> operands, ElementRange elements) = 0;

  /// These elements of `sums` are final: they are to be where `readable` says.
  virtual void finish(std::span<float* const> sums, ElementRange elements) = 0;
  /// How many calls of `finish` have come to their end, in their order. `wait`: all of them.
  virtual std::size_t finished(bool wait) = 0;
  /// What the reduction may read, of a vector that is or will be finished; of the host's memory itself.
  virtual const float* readable(float* sums) = 0;
  /// A step begins: no call of `finish` counts any more.
  virtual void start() = 0;
};

/// Borrowable memory (borrowable.hpp); sums are final where they are.
std::unique_ptr<SumMemory> make_host_sums(std::size_t elements, Wire wire);

}  // namespace muster
