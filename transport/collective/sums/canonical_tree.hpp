// The canonical order of the sum. The tree has 2^K leaves, 2^K the least power of two not
// below S; leaf s is shard s. A node adds its left child and its right child, in this order; an absent child
// passes its sibling on unchanged. Whatever part of the tree is added where, the bits of the root are the
// same.
//
// Nodes are numbered as in a heap: the root is 1, node i has children 2i and 2i+1, leaf s is 2^K + s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/collective/sums/kernels.hpp"
#include "transport/collective/sums/wire.hpp"

namespace muster {

using NodeId = std::uint32_t;

/// K for S shards. S is at least 1 and at most 2^20.
unsigned tree_height(std::uint32_t shards);

inline NodeId leaf_node(unsigned height, std::uint32_t shard) {
  return (NodeId{1} << height) + shard;
}

/// First and last-but-one leaf below a node, clipped to nothing: absent leaves beyond S are included.
struct LeafInterval {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};
LeafInterval leaves_below(unsigned height, NodeId node);

/// The least set of nodes, left to right, whose leaves are exactly [begin, end): at most 2*K nodes, one if
/// aligned.
std::vector<NodeId> cover(unsigned height, std::uint32_t begin, std::uint32_t end);

/// How a set of disjoint nodes is added up to the root: a postfix program. `operand` pushes the values of
/// nodes[operand]; kAdd replaces the two topmost by their sum, lower + upper.
struct FoldProgram {
  static constexpr std::uint32_t kAdd = ~std::uint32_t{0};
  std::vector<std::uint32_t> code;
  std::size_t depth = 0;  ///< greatest number of values on the stack
};

/// `nodes` are disjoint, none above another, in any order; only present ones. Empty nodes give an empty
/// program.
FoldProgram fold_program(unsigned height, std::span<const NodeId> nodes);

/// Runs the program on elements [0, count) of each operand, divides by `divisor` (float32 division) and
/// writes to `out`. operands[i] points to the first element of nodes[i]. `out` may be one of the operands
/// only if the program is a single push. An empty program writes nothing. Needs no memory but a block on the
/// stack of the caller's thread. Each sum and the quotient are rounded for the wire, if it rounds; `store` is
/// of no effect then.
void fold(const FoldProgram& program, std::span<const float* const> operands, std::size_t count,
          float divisor, float* out, const Wire& wire = {}, kernels::Store store = kernels::Store::cached);

}  // namespace muster
