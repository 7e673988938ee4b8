// How the sums of a round are added: what is there, in which order, and chunk by chunk.
#include <algorithm>
#include <utility>

#include "muster/config/canary.hpp"
#include "muster/config/check.hpp"
#include "muster/transport/collective/reduction.hpp"

namespace muster {

// All headers are in: it is known which leaves are present, what the divisor is, and which nodes will come.
void Reduction::prepare_fold(Slot& current) {
  current.ready_to_fold = true;
  std::vector<bool> present(shape_.shards, false);
  std::vector<double> weights(shape_.shards, 0.0);
  for (const auto& header : current.headers) {
    for (const ShardWord& word : header->shards) {
      if (!word.present() || word.shard >= shape_.shards) continue;
      present[word.shard] = true;
      weights[word.shard] = word.weight;
    }
  }
  for (const double weight : weights)
    current.weight += weight;  // in the order of shards, on every member alike
  const auto any_present = [&](NodeId node) {
    const auto leaves = leaves_below(height_, node);
    for (std::uint32_t s = leaves.begin; s < std::min(leaves.end, shape_.shards); ++s) {
      if (present[s]) return true;
    }
    return false;
  };
  std::vector<NodeId> nodes;
  current.present.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!any_present(nodes_[i].node)) continue;
    nodes.push_back(nodes_[i].node);
    current.present.push_back(i);
  }
  current.expected_arrivals = static_cast<std::uint32_t>(nodes.size()) - (canary("folds-early") ? 1 : 0);
  current.program = fold_program(height_, nodes);
}

// The first answer counts; the buffer of a second one is free again.
void Reduction::stage(Slot& current, std::size_t index, std::size_t chunk, Staged values) {
  if (take(current, index, chunk)) {
    current.staged[index * own_chunks() + chunk] = values;
  } else {
    release(values);
  }
}

// The own part lies where it was computed; what came from others, also in this member's stead, is staged.
const float* Reduction::operand(const Slot& current, std::size_t index, std::size_t chunk) const {
  if (nodes_[index].member == shape_.self && current.contributed) {
    for (const NodeValue& value : current.nodes) {
      if (value.node == nodes_[index].node) return value.values + own_.begin + chunk * shape_.chunk_elements;
    }
    MUSTER_CHECK(false, nodes_[index].node, "said to be present, but not contributed");
  }
  return current.staged[index * own_chunks() + chunk].values;
}

void Reduction::fold_chunk(Slot& current, std::size_t chunk) {
  const std::size_t begin = chunk * shape_.chunk_elements;
  const std::size_t count = std::min(shape_.chunk_elements, own_.size() - begin);
  std::vector<const float*> operands;
  for (const std::size_t index : current.present) operands.push_back(operand(current, index, chunk));
  float* out = result_at(own_.begin + begin);
  fold(current.program, operands, count, static_cast<float>(current.weight), out);
  for (std::size_t index = 0; index < staged_nodes_; ++index) {
    release(current.staged[index * own_chunks() + chunk]);
  }
  current.chunk_folded[chunk] = true;
  ++current.folded;
  Frame frame;
  frame.kind = FrameKind::result;
  frame.offset = own_.begin + begin;
  const std::size_t members = shape_.members.size();
  for (std::size_t turn = 1; turn < members && !failed_; ++turn) {
    send(static_cast<std::uint32_t>((shape_.self + turn) % members), frame,
         std::as_bytes(std::span<const float>(out, count)), current);
  }
}

void Reduction::fold_ready_chunks(Slot& current) {
  for (std::size_t chunk = 0; chunk < own_chunks() && !failed_; ++chunk) {
    if (!current.chunk_folded[chunk] && current.chunk_arrivals[chunk] == current.expected_arrivals) {
      fold_chunk(current, chunk);
    }
  }
}

}  // namespace muster
