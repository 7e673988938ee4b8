// Backup workers for a late member: they compute a node of it, too. Whichever answer comes first counts;
// both have the same bits, and where both come, their losses are compared.
#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "transport/collective/reduction/reduction.hpp"

namespace muster {

void Reduction::add_backup(std::uint64_t round, const NodeValue& value,
                           const std::vector<ShardMetrics>& metrics, std::shared_ptr<const void> keep) {
  if (failed_ || !opened_ || round != round_) return;  // it is not needed any more
  Slot& current = slot(round_);
  const std::size_t index = index_of(value.node);
  MUSTER_CHECK(shape_.backup_workers && index < nodes_.size() && nodes_[index].member != shape_.self,
               value.node);
  if (current.backup_workers[index] || current.metrics[nodes_[index].member]) return;
  current.keep.push_back(std::move(keep));
  auto& bytes = current.backup_bytes[{index, shape_.self}].bytes();
  encode_metrics(metrics, bytes);
  append_check(bytes);
  current.backup_workers[index] = metrics;
  {
    const Inside inside(inside_);
    broadcast(frame_with(MetricsBody{value.node, 0}), current, bytes);
    if (!failed_) current.sum->add_backup(value, nodes_[index].member);
  }
  step_on();
}

std::span<std::byte> Reduction::place_backup(Slot& target, const Frame& frame) {
  const std::size_t index = node_of(frame);
  if (index == nodes_.size() || target.backup_workers[index]) return {};
  const auto leaves = leaves_below(height_, MetricsBody::from(frame).tree_node);
  if (frame.bytes > (leaves.end - leaves.begin) * sizeof(ShardMetrics) + kCheckBytes) return {};
  return target.backup_bytes[{index, frame.from}].place(frame.bytes);
}

// Also of a round that went on with the answers of backup workers.
void Reduction::metrics_ended(const Frame& received, const std::byte* place) {
  const auto member = members_.find(received.from);
  if (member == members_.end()) return;
  Slot& target = slot(received.round);
  const NodeId node = MetricsBody::from(received).tree_node;
  if (node == 0) return target.metrics_bytes[member->second].ended(place);
  const auto add_backup = target.backup_bytes.find({index_of(node), member->second});
  if (add_backup != target.backup_bytes.end()) add_backup->second.ended(place);
}

// Whether it is the first answer for this node.
bool Reduction::backup_arrived(Slot& target, const Frame& frame, std::span<const std::byte> payload) {
  const std::size_t index = node_of(frame);
  if (index == nodes_.size() || payload.empty() || target.backup_workers[index]) return false;
  const auto leaves = leaves_below(height_, MetricsBody::from(frame).tree_node);
  const bool can_be = target.backup_workers[index].fill([&](auto& metrics) {
    return take_check(payload) && decode_metrics(payload, leaves.end - leaves.begin, metrics) &&
           std::all_of(metrics.begin(), metrics.end(), [&](const ShardMetrics& m) {
             return m.shard >= leaves.begin && m.shard < leaves.end;
           });
  });
  if (!can_be) {
    blame(frame.from, "metrics that cannot be");
    return false;
  }
  return same_as_backup_workers(target, nodes_[index].member);
}

// Fails if a member and its backup worker have computed other bits.
bool Reduction::same_as_backup_workers(const Slot& current, std::uint32_t member) {
  if (!current.metrics[member]) return true;
  const auto& own = *current.metrics[member];
  for (std::size_t i = first_node_[member]; i < nodes_.size() && nodes_[i].member == member; ++i) {
    if (!current.backup_workers[i]) continue;
    for (const ShardMetrics& other : *current.backup_workers[i]) {
      const auto same = [&](const ShardMetrics& of) {  // to the bit: a loss may be NaN
        return std::memcmp(&of, &other, sizeof of) == 0;
      };
      if (std::any_of(own.begin(), own.end(), same)) continue;
      fail("diverged: the losses of shard " + std::to_string(other.shard) + ", computed by " +
           member_name(member) + " and by its backup worker, differ");
      return false;
    }
  }
  return true;
}

bool Reduction::node_present(const Slot& current, std::size_t index) const {
  const auto leaves = leaves_below(height_, nodes_[index].node);
  const auto& reports = current.headers[nodes_[index].member]->shards;
  return std::any_of(reports.begin(), reports.end(), [&](const ShardReport& report) {
    return report.present() && report.shard >= leaves.begin && report.shard < leaves.end;
  });
}

// Whether all that a member has to say of the open round is known, from it or from its backup worker.
bool Reduction::reports_in(const Slot& current, std::uint32_t member) const {
  if (current.metrics[member]) return true;
  if (!shape_.backup_workers || !current.headers[member] || current.headers[member]->kind != RoundKind::train)
    return false;
  for (std::size_t i = first_node_[member]; i < nodes_.size() && nodes_[i].member == member; ++i) {
    if (!current.backup_workers[i] && node_present(current, i)) return false;
  }
  const auto& reports = current.headers[member]->shards;
  return std::any_of(reports.begin(), reports.end(),
                     [](const ShardReport& report) { return report.present(); });
}

bool Reduction::reports_of_all(const Slot& current) const {
  if (current.metrics_in == shape_.members.size()) return true;
  if (!shape_.backup_workers) return false;
  for (std::uint32_t member = 0; member < shape_.members.size(); ++member) {
    if (!reports_in(current, member)) return false;
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
    if (current.backup_workers[i]) append(*current.backup_workers[i]);
  }
}

}  // namespace muster
