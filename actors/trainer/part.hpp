// What a replica holds that not every replica has: a part of a sharded optimizer's vectors (optimizer_part),
// or the states of shards (shard_states). It is dealt anew for each view, has a second holder, and is
// gathered for checkpoints; see rules/steps/parts.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "actors/rules/steps/parts.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

struct Snapshot;

/// Of one view. Used by the compute thread, between rounds.
class Part {
 public:
  virtual ~Part() = default;

  /// Takes the memory; all is 0. First of all. `before`: what this replica held until now, or null.
  virtual void prepare(const Part* before) = 0;
  /// The step is whole: what it made counts from now on. `shards`: the reports of its record. Throws Error if
  /// what it should have made is not there.
  virtual void commit(std::uint64_t step, const std::vector<ShardReport>& shards) = 0;

  /// Whether there is anything to hold.
  virtual bool has_vectors() const = 0;
  /// Whether it has these elements without being given them.
  virtual bool keeps(ElementRange elements) const = 0;
  /// What it is to be given before it is complete.
  virtual void expect(const std::vector<PartMove>& moves) = 0;
  /// Elements as bytes, for `take` of another one. At most PartMove::kElementsMax.
  virtual std::vector<std::byte> give(ElementRange elements) const = 0;
  /// Throws Error if it is not what is expected.
  virtual void take(std::span<const std::byte> bytes) = 0;
  virtual bool complete() const = 0;

  /// All that it holds, from a whole snapshot; complete after it. Throws Error if that does not fit.
  virtual void fill_from(const Snapshot& snapshot) = 0;
  /// What this replica owns goes into a whole snapshot, as slots behind those that are there; they are made
  /// if need be.
  virtual void copy_into(Snapshot& snapshot) const = 0;

  /// Most bytes of `give`.
  static std::size_t given_bytes_max();
};

/// Elements of parts on their way.
struct GivenElements {
  ElementRange elements;
  std::vector<std::vector<float>> vectors;  ///< `count` elements of each
};
/// `vectors`: of each element. Throws Error if the bytes are none.
GivenElements decode_given(std::span<const std::byte> bytes, std::size_t vectors);
std::vector<std::byte> encode_given(ElementRange elements,
                                    const std::vector<std::span<const float>>& vectors);

/// What is waited for: ranges of elements, each as it will come.
class AwaitedElements {
 public:
  void add(ElementRange elements) { ends_[elements.begin] = elements.end; }
  /// False: it has come before, and counts once. Throws Error if nobody waits for it.
  bool strike_out(ElementRange elements);
  void clear() { *this = {}; }
  bool empty() const { return ends_.empty(); }

 private:
  std::map<std::size_t, std::size_t> ends_, came_;  // by begins
};

/// Where parts lie in a whole snapshot: element e of vector i is in slot first + i + e / length, at e %
/// length.
struct PartSlots {
  std::size_t first = 0;
  std::size_t vectors = 0;  ///< of each element
  std::size_t length = 0;   ///< of a slot
};

/// Gathers the parts of all for a checkpoint.
class GatheredParts {
 public:
  /// Into `snapshot`, which has the own part.
  GatheredParts(std::shared_ptr<Snapshot> snapshot, const PartSlots& slots,
                const std::vector<PartMove>& moves, std::uint32_t self);

  /// Throws Error if it is not what is expected.
  void take(std::span<const std::byte> bytes);
  bool complete() const { return awaited_.empty(); }
  const std::shared_ptr<Snapshot>& snapshot() const { return snapshot_; }

 private:
  std::shared_ptr<Snapshot> snapshot_;
  PartSlots slots_;
  AwaitedElements awaited_;
};

}  // namespace muster
