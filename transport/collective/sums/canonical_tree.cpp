#include "transport/collective/sums/canonical_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.hpp"
#include "transport/collective/sums/kernels.hpp"

namespace muster {

namespace {

constexpr std::size_t kBlock = 2048;   // elements folded at a time: stays in the first-level cache
constexpr std::size_t kDepthMax = 24;  // 2^20 shards at most, so the stack never grows beyond 21 values

int height_below(unsigned height, NodeId node) {
  return static_cast<int>(height) - (std::bit_width(node) - 1);
}

bool is_ancestor_or_self(NodeId above, NodeId node) {
  const int shift = std::bit_width(node) - std::bit_width(above);
  return shift >= 0 && (node >> shift) == above;
}

// Appends the code for everything below `node`; returns whether anything is there.
bool emit(NodeId node, std::span<const NodeId> nodes, std::span<const std::uint32_t> order,
          FoldProgram& program, std::size_t stack) {
  if (order.empty()) return false;
  if (order.size() == 1) {  // one value below: absent siblings pass it on unchanged
    program.code.push_back(order[0]);
    program.depth = std::max(program.depth, stack + 1);
    return true;
  }
  const NodeId right = 2 * node + 1;
  const auto middle = std::find_if(order.begin(), order.end(),
                                   [&](std::uint32_t i) { return is_ancestor_or_self(right, nodes[i]); });
  const std::size_t split = static_cast<std::size_t>(middle - order.begin());
  const bool has_left = emit(2 * node, nodes, order.first(split), program, stack);
  const bool has_right = emit(right, nodes, order.subspan(split), program, stack + (has_left ? 1 : 0));
  if (has_left && has_right) program.code.push_back(FoldProgram::kAdd);
  return true;
}

}  // namespace

unsigned tree_height(std::uint32_t shards) {
  MUSTER_CHECK(shards >= 1 && shards <= (1u << 20), shards);
  return static_cast<unsigned>(std::bit_width(shards - 1));
}

LeafInterval leaves_below(unsigned height, NodeId node) {
  const int below = height_below(height, node);
  MUSTER_CHECK(node >= 1 && below >= 0, height, node);
  const NodeId first = node << below;
  const std::uint32_t begin = first - (NodeId{1} << height);
  return {begin, begin + (1u << below)};
}

std::vector<NodeId> cover(unsigned height, std::uint32_t begin, std::uint32_t end) {
  MUSTER_CHECK(begin <= end && end <= (1u << height), begin, end, height);
  std::vector<NodeId> left, right;
  NodeId low = leaf_node(height, begin);
  NodeId high = leaf_node(height, end);
  for (; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) left.push_back(low++);
    if (high % 2 == 1) right.push_back(--high);
  }
  left.insert(left.end(), right.rbegin(), right.rend());
  return left;
}

FoldProgram fold_program(unsigned height, std::span<const NodeId> nodes) {
  std::vector<std::uint32_t> order(nodes.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return leaves_below(height, nodes[a]).begin < leaves_below(height, nodes[b]).begin;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    MUSTER_CHECK(leaves_below(height, nodes[order[i - 1]]).end <= leaves_below(height, nodes[order[i]]).begin,
                 nodes[order[i - 1]], nodes[order[i]]);
  }
  FoldProgram program;
  emit(1, nodes, order, program, 0);
  MUSTER_CHECK(program.depth < kDepthMax, program.depth);
  return program;
}

namespace {

// Of a power of two: to multiply with it gives the same bits as to divide, several times as fast. 0 of any
// other number, and where the reciprocal is no normal number.
float exact_reciprocal(float divisor) {
  int exponent = 0;
  const bool power_of_two = std::frexp(divisor, &exponent) == 0.5f;
  const float reciprocal = 1 / divisor;
  return power_of_two && std::isnormal(reciprocal) ? reciprocal : 0;
}

kernels::Scale scale_by(float divisor) {
  const float factor = exact_reciprocal(divisor);
  return factor != 0 ? kernels::Scale{factor, false} : kernels::Scale{divisor, true};
}

// Whether the sum of four operands, (a + b) + (c + d), begins there.
constexpr std::size_t kFour = 7;
bool four_at(const FoldProgram& program, std::size_t at) {
  const auto& code = program.code;
  const auto operand = [&](std::size_t i) { return code[at + i] != FoldProgram::kAdd; };
  return at + kFour <= code.size() && operand(0) && operand(1) && !operand(2) && operand(3) && operand(4) &&
         !operand(5) && !operand(6);
}

void fold_block(const FoldProgram& program, std::span<const float* const> operands, std::size_t offset,
                std::size_t count, kernels::Scale by, const Wire& wire, float* out, kernels::Store store) {
  // One buffer a level of the stack; a sum overwrites the buffer of its left operand's level.
  static thread_local std::array<std::array<float, kBlock>, kDepthMax> scratch;
  std::array<const float*, kDepthMax> stack{};
  std::size_t top = 0;
  const auto& code = program.code;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!wire.rounds() && four_at(program, i)) {
      const std::array<const float*, 4> four{operands[code[i]] + offset, operands[code[i + 1]] + offset,
                                             operands[code[i + 3]] + offset, operands[code[i + 4]] + offset};
      i += kFour - 1;
      if (i + 1 == code.size()) return kernels::add_four_and_scale(four, count, by, out + offset, store);
      kernels::add_four_and_scale(four, count, {}, scratch[top].data());
      stack[top] = scratch[top].data();
      ++top;
      continue;
    }
    if (code[i] != FoldProgram::kAdd) {
      stack[top++] = operands[code[i]] + offset;
      continue;
    }
    const float* left = stack[top - 2];
    const float* right = stack[top - 1];
    const bool last = i + 1 == code.size();
    if (last && !wire.rounds()) return kernels::add_and_scale(left, right, count, by, out + offset, store);
    float* sum = scratch[top - 2].data();
    kernels::add(left, right, count, sum);
    if (wire.rounds()) round_to(wire, count, sum);
    stack[--top - 1] = sum;
  }
  kernels::scale(stack[0], count, by, out + offset, wire.rounds() ? kernels::Store::cached : store);
  if (wire.rounds()) round_to(wire, count, out + offset);
}

// Whether one pass does it, with nothing in between that has to stay in a cache.
bool is_one_pass(const FoldProgram& program, const Wire& wire) {
  return !wire.rounds() &&
         (program.code.size() <= 3 || (program.code.size() == kFour && four_at(program, 0)));
}

}  // namespace

void fold(const FoldProgram& program, std::span<const float* const> operands, std::size_t count,
          float divisor, float* out, const Wire& wire, kernels::Store store) {
  if (program.code.empty()) return;
  const kernels::Scale by = scale_by(divisor);
  const std::size_t block = is_one_pass(program, wire) ? count : kBlock;
  for (std::size_t offset = 0; offset < count; offset += block) {
    fold_block(program, operands, offset, std::min(block, count - offset), by, wire, out, store);
  }
}

}  // namespace muster
