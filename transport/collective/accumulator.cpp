#include "muster/transport/collective/accumulator.hpp"

#include <algorithm>
#include <utility>

#include "muster/config/check.hpp"
#include "muster/transport/collective/kernels.hpp"

namespace muster {

Accumulator::Accumulator(std::uint32_t shards, std::uint32_t begin, std::uint32_t end, std::size_t elements)
    : height_(tree_height(shards)),
      begin_(begin),
      end_(end),
      elements_(elements),
      cover_(cover(height_, begin, end)) {
  start();
}

void Accumulator::start() {
  for (const Entry& entry : stack_) {
    if (entry.values) free_.push_back(entry.values);
  }
  stack_.clear();
  next_ = begin_;
}

float* Accumulator::take() {
  if (free_.empty()) {
    owned_.emplace_back(elements_);
    return owned_.back().get();
  }
  float* values = free_.back();
  free_.pop_back();
  return values;
}

std::span<float> Accumulator::leaf() {
  if (!leaf_) leaf_ = take();
  return {leaf_, elements_};
}

void Accumulator::add_leaf() {
  MUSTER_CHECK(leaf_ != nullptr, next_);
  push(std::exchange(leaf_, nullptr));
}

void Accumulator::skip_leaf() {
  push(nullptr);
}

void Accumulator::push(float* values) {
  MUSTER_CHECK(next_ < end_, next_, end_);
  Entry entry{leaf_node(height_, next_++), values};
  const auto in_cover = [&](NodeId node) {
    return std::find(cover_.begin(), cover_.end(), node) != cover_.end();
  };
  // A right child whose left sibling waits on the stack closes their parent, unless it is a node of the cover
  // itself.
  while (entry.node % 2 == 1 && !in_cover(entry.node) && !stack_.empty() &&
         stack_.back().node == entry.node - 1) {
    Entry left = stack_.back();
    stack_.pop_back();
    if (left.values && entry.values) {
      kernels::add(left.values, entry.values, elements_, left.values);
      free_.push_back(entry.values);
    } else if (entry.values) {
      left.values = entry.values;
    }
    entry = {left.node / 2, left.values};
  }
  stack_.push_back(entry);
}

std::vector<NodeValue> Accumulator::nodes() const {
  MUSTER_CHECK(next_ == end_, next_, end_);
  std::vector<NodeValue> values;
  for (const Entry& entry : stack_) {
    if (entry.values) values.push_back({entry.node, entry.values});
  }
  return values;
}

std::size_t Accumulator::bytes_max(std::uint32_t shards, std::uint32_t begin, std::uint32_t end,
                                   std::size_t elements) {
  const unsigned height = tree_height(shards);
  std::size_t buffers = 0, most = 0;
  for (const NodeId node : cover(height, begin, end)) {
    const auto leaves = leaves_below(height, node);
    most = std::max(most, buffers + tree_height(leaves.end - leaves.begin) + 1);
    ++buffers;
  }
  return std::max(most, buffers) * elements * sizeof(float);
}

}  // namespace muster
