#include "transport/collective/sums/accumulator.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster {

Accumulator::Accumulator(std::uint32_t shards, std::uint32_t begin, std::uint32_t end, std::size_t elements,
                         Wire wire)
    : Accumulator(shards, begin, end, elements, make_host_sums(elements, wire)) {}

Accumulator::Accumulator(std::uint32_t shards, std::uint32_t begin, std::uint32_t end, std::size_t elements,
                         std::unique_ptr<SumMemory> memory)
    : height_(tree_height(shards)),
      begin_(begin),
      end_(end),
      elements_(elements),
      memory_(std::move(memory)),
      cover_(cover(height_, begin, end)) {
  start();
}

void Accumulator::start() {
  memory_->start();
  close_leaf();
  for (const Entry& entry : stack_) {
    if (entry.values) free_.push_back(entry.values);
  }
  stack_.clear();
  next_ = begin_;
}

float* Accumulator::take() {
  if (free_.empty()) return memory_->make();
  float* values = free_.back();
  free_.pop_back();
  return values;
}

std::span<float> Accumulator::leaf() {
  MUSTER_CHECK(operands_.empty(), next_, "a leaf is open");
  float* const values = take();
  operands_.push_back(values);
  push(values);
  return {values, elements_};
}

void Accumulator::add(ElementRange elements) {
  MUSTER_CHECK(!operands_.empty() && elements.end <= elements_, elements.begin, elements.end);
  added_ += elements.count();
  memory_->add_up(operands_, elements);
}

void Accumulator::add_leaf() {
  if (added_ == 0) add({0, elements_});
  MUSTER_CHECK(added_ == elements_, added_, elements_);
  close_leaf();
}

// Of its way up only the last sum is needed from here on.
void Accumulator::close_leaf() {
  if (!operands_.empty()) operands_.pop_back();
  free_.insert(free_.end(), operands_.begin(), operands_.end());
  operands_.clear();
  added_ = 0;
}

void Accumulator::skip_leaf() {
  const bool open = !operands_.empty();
  push(nullptr);
  if (!open && !operands_.empty()) add_leaf();  // sums that waited for this place
}

// Where a leaf belongs follows from what is there already; its values are added when they are final.
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
      if (operands_.empty()) operands_.push_back(entry.values);
      operands_.push_back(left.values);
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
    if (entry.values) values.push_back({entry.node, memory_->readable(entry.values)});
  }
  return values;
}

// Each node of the cover lies in the right sibling of the one before it, or of a node above that: so the last
// two are added first.
std::span<const float> Accumulator::whole() {
  MUSTER_CHECK(begin_ == 0 && next_ == end_ && operands_.empty(), begin_, next_);
  std::vector<float*> operands;
  for (auto entry = stack_.rbegin(); entry != stack_.rend(); ++entry) {
    if (entry->values) operands.push_back(entry->values);
  }
  MUSTER_CHECK(!operands.empty(), next_, "no shard was present");
  if (operands.size() > 1) memory_->add_up(operands, {0, elements_});
  free_.insert(free_.end(), operands.begin(), operands.end() - 1);
  stack_.assign(1, {1, operands.back()});
  return {operands.back(), elements_};
}

void Accumulator::finish(ElementRange elements) {
  final_.clear();
  for (const Entry& entry : stack_) {
    if (entry.values) final_.push_back(entry.values);
  }
  memory_->finish(final_, elements);
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
