// Members that stand in for a late one: they compute a node of it, too. Whichever answer comes first counts;
// both have the same bits, and where both come, their losses are compared.
#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "transport/collective/reduction/reduction.hpp"

namespace muster {

void Reduction::stand_in(std::uint64_t round, const NodeValue& value,
                         const std::vector<ShardMetrics>& metrics, std::shared_ptr<const void> keep) {
  if (failed_ || !opened_ || round != round_) return;  // it is not needed any more
  Slot& current = slot(round_);
  const std::size_t index = index_of(value.node);
  MUSTER_CHECK(shape_.stand_ins && index < nodes_.size() && nodes_[index].member != shape_.self, value.node);
  if (current.stand_ins[index] || current.metrics[nodes_[index].member]) return;
  current.keep.push_back(std::move(keep));
  auto& bytes = current.stand_in_bytes[{index, shape_.self}].bytes();
  encode_metrics(metrics, bytes);
  append_check(bytes);
  current.stand_ins[index] = metrics;
  {
    const Inside inside(inside_);
    Frame frame;
    frame.kind = FrameKind::metrics;
    frame.node = value.node;
    for (std::uint32_t member = 0; member < shape_.members.size() && !failed_; ++member) {
      if (member != shape_.self) send(member, frame, bytes, current);
    }
    if (!failed_) current.sum->stand_in(value, nodes_[index].member);
  }
  step_on();
}

std::span<std::byte> Reduction::place_stand_in(Slot& target, const Frame& frame) {
  const std::size_t index = node_of(frame);
  if (index == nodes_.size() || target.stand_ins[index]) return {};
  const auto leaves = leaves_below(height_, frame.node);
  if (frame.bytes > (leaves.end - leaves.begin) * sizeof(ShardMetrics) + kCheckBytes) return {};
  return target.stand_in_bytes[{index, frame.from}].place(frame.bytes);
}

// Also of a round that went on with the answers of those who stood in.
void Reduction::metrics_ended(const Frame& received, const std::byte* place) {
  const auto member = members_.find(received.from);
  if (member == members_.end()) return;
  Slot& target = slot(received.round);
  if (received.node == 0) return target.metrics_bytes[member->second].ended(place);
  const auto stand_in = target.stand_in_bytes.find({index_of(received.node), member->second});
  if (stand_in != target.stand_in_bytes.end()) stand_in->second.ended(place);
}

// Whether it is the first answer for this node.
bool Reduction::stand_in_arrived(Slot& target, const Frame& frame, std::span<const std::byte> payload) {
  const std::size_t index = node_of(frame);
  if (index == nodes_.size() || payload.empty() || target.stand_ins[index]) return false;
  const auto leaves = leaves_below(height_, frame.node);
  const bool can_be = target.stand_ins[index].fill([&](auto& metrics) {
    return take_check(payload) && decode_metrics(payload, leaves.end - leaves.begin, metrics) &&
           std::all_of(metrics.begin(), metrics.end(), [&](const ShardMetrics& m) {
             return m.shard >= leaves.begin && m.shard < leaves.end;
           });
  });
  if (!can_be) {
    blame(frame.from, "metrics that cannot be");
    return false;
  }
  return same_as_stand_ins(target, nodes_[index].member);
}

// Fails if a member and one that stood in for it have computed other bits.
bool Reduction::same_as_stand_ins(const Slot& current, std::uint32_t member) {
  if (!current.metrics[member]) return true;
  const auto& own = *current.metrics[member];
  for (std::size_t i = first_node_[member]; i < nodes_.size() && nodes_[i].member == member; ++i) {
    if (!current.stand_ins[i]) continue;
    for (const ShardMetrics& other : *current.stand_ins[i]) {
      const auto same = [&](const ShardMetrics& of) {  // to the bit: a loss may be no number
        return std::memcmp(&of, &other, sizeof of) == 0;
      };
      if (std::any_of(own.begin(), own.end(), same)) continue;
      fail("diverged: the losses of shard " + std::to_string(other.shard) + ", computed by " +
           member_name(member) + " and by one that stood in for it, differ");
      return false;
    }
  }
  return true;
}

bool Reduction::node_present(const Slot& current, std::size_t index) const {
  const auto leaves = leaves_below(height_, nodes_[index].node);
  const auto& words = current.headers[nodes_[index].member]->shards;
  return std::any_of(words.begin(), words.end(), [&](const ShardWord& word) {
    return word.present() && word.shard >= leaves.begin && word.shard < leaves.end;
  });
}

// Whether all that a member has to say of the open round is known, from it or from who stood in for it.
bool Reduction::words_in(const Slot& current, std::uint32_t member) const {
  if (current.metrics[member]) return true;
  if (!shape_.stand_ins || !current.headers[member] || current.headers[member]->kind != RoundKind::train)
    return false;
  for (std::size_t i = first_node_[member]; i < nodes_.size() && nodes_[i].member == member; ++i) {
    if (!current.stand_ins[i] && node_present(current, i)) return false;
  }
  const auto& words = current.headers[member]->shards;
  return std::any_of(words.begin(), words.end(), [](const ShardWord& word) { return word.present(); });
}

bool Reduction::words_of_all(const Slot& current) const {
  if (current.metrics_in == shape_.members.size()) return true;
  if (!shape_.stand_ins) return false;
  for (std::uint32_t member = 0; member < shape_.members.size(); ++member) {
    if (!words_in(current, member)) return false;
  }
  return true;
}

void Reduction::append_metrics(const Slot& current, std::uint32_t member,
                               std::vector<ShardMetrics>& to) const {
  const auto append = [&](const std::vector<ShardMetrics>& metrics) {
    to.insert(to.end(), metrics.begin(), metrics.end());
  };
  if (current.metrics[member]) return append(*current.metrics[member]);
  for (std::size_t i = first_node_[member]; i < nodes_.size() && nodes_[i].member == member; ++i) {
    if (current.stand_ins[i]) append(*current.stand_ins[i]);
  }
}

}  // namespace muster
