// A replica's own part of the sum: the gradients of its shards, folded up the canonical tree as far as its
// interval of shards allows, while they are computed one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/collective/sums/canonical_tree.hpp"
#include "transport/collective/sums/sum_memory.hpp"

namespace muster {

/// The sum of one tree node, ready to be reduced. Points into the accumulator that made it, to memory of the
/// host.
struct NodeValue {
  NodeId node = 0;
  const float* values = nullptr;
};

/// Takes the shards [begin, end) in ascending order, once each. Buffers are kept from step to step: after the
/// first steps nothing is allocated. One thread at a time. Leaves are memory of whatever adds them up.
class Accumulator {
 public:
  Accumulator(std::uint32_t shards, std::uint32_t begin, std::uint32_t end, std::size_t elements,
              Wire wire = {});
  Accumulator(std::uint32_t shards, std::uint32_t begin, std::uint32_t end, std::size_t elements,
              std::unique_ptr<SumMemory> memory);

  /// Starts a step: all values of the step before are given up.
  void start();

  /// Where the gradient of the next shard is to be written; then `add_leaf`. A shard without a gradient is
  /// `skip_leaf`, which may come before `add_leaf` of the leaf that is open.
  std::span<float> leaf();
  /// These elements of the open leaf are final, and are added up; each element once.
  void add(ElementRange elements);
  /// The open leaf is final: as a whole, or what `add` has not been told of is nothing.
  void add_leaf();
  void skip_leaf();

  /// When there is a leaf, or none, for every shard: the nodes of the cover that hold a value, left to right.
  /// Only what `finished` has counted is there, and final.
  std::vector<NodeValue> nodes() const;
  /// Adds up the nodes of the cover as well: the sum of all shards, undivided, where it was added up. Of an
  /// accumulator that has all shards of the job, one of them present, when there is a leaf, or none, for
  /// each.
  std::span<const float> whole();
  /// These elements of the nodes are final: each element once, when it has been added.
  void finish(ElementRange elements);
  /// How many calls of `finish` have brought their elements to the host, in their order. `wait`: all of them.
  std::size_t finished(bool wait) { return memory_->finished(wait); }

  const std::vector<NodeId>& cover_nodes() const { return cover_; }
  std::size_t elements() const { return elements_; }

  /// Most bytes that an accumulator of this shape ever holds.
  static std::size_t bytes_max(std::uint32_t shards, std::uint32_t begin, std::uint32_t end,
                               std::size_t elements);

 private:
  struct Entry {
    NodeId node;
    float* values;  // null: nothing below is present
  };

  float* take();
  void push(float* values);
  void close_leaf();

  unsigned height_;
  std::uint32_t begin_;
  std::uint32_t end_;
  std::size_t elements_;
  std::unique_ptr<SumMemory> memory_;
  std::vector<NodeId> cover_;
  std::vector<float*> free_;
  std::vector<Entry> stack_;  // finished nodes of the cover, then the open path to the next leaf
  std::uint32_t next_ = 0;
  // Of the open leaf: its values, then the sums that they are added to, each to the next.
  std::vector<float*> operands_;
  std::size_t added_ = 0;  // elements
  std::vector<float*> final_;
};

}  // namespace muster
