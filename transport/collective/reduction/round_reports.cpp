#include "transport/collective/reduction/round_reports.hpp"

#include <algorithm>
#include <cstring>

namespace muster {

namespace {

using What = RoundReports::News::What;

bool speaks_for(const RoundHeader& header, const ReductionMember& member) {
  return std::all_of(header.shards.begin(), header.shards.end(), [&](const ShardReport& report) {
    return report.shard >= member.begin && report.shard < member.end;
  });
}

std::size_t shards_of(const ReductionMember& member) {
  return member.end - member.begin;
}

}  // namespace

RoundReports::RoundReports(const ReductionShape& shape, const MemberNodes& nodes)
    : shape_(shape),
      nodes_(nodes),
      header_bytes_(shape.members.size()),
      metrics_bytes_(shape.members.size()),
      headers_(shape.members.size()),
      metrics_(shape.members.size()),
      audits_(shape.members.size()),
      backup_metrics_(nodes.size()) {}

void RoundReports::reset() {
  for (auto& header : headers_) header.reset();
  for (auto& metrics : metrics_) metrics.reset();
  for (auto& reports : audits_) reports.clear();
  for (auto& metrics : backup_metrics_) metrics.reset();
  headers_in_ = metrics_in_ = 0;
}

// ---- what this member reports

std::span<const std::byte> RoundReports::open(const RoundHeader& header, const VariantTimes& times) {
  headers_[shape_.self].fill([&](RoundHeader& mine) {
    mine = header;  // into the memory of an earlier one
    mine.variant_times = times;
    return true;
  });
  ++headers_in_;
  auto& bytes = header_bytes_[shape_.self];
  encode_header(own_header(), bytes);
  append_check(bytes);
  return bytes;
}

std::string RoundReports::contribute(const std::vector<ShardMetrics>& metrics,
                                     const std::vector<AuditReport>& audits) {
  auto& bytes = metrics_bytes_[shape_.self].bytes();
  encode_metrics(metrics, bytes);
  append_audits(audits, bytes);
  append_check(bytes);
  metrics_[shape_.self] = metrics;
  audits_[shape_.self] = audits;
  ++metrics_in_;
  return difference(shape_.self);
}

bool RoundReports::needs_backup(std::size_t node) const {
  return !backup_metrics_[node] && !metrics_[nodes_[node].member];
}

std::span<const std::byte> RoundReports::add_backup(std::size_t node,
                                                    const std::vector<ShardMetrics>& metrics) {
  auto& bytes = backup_bytes_[{node, shape_.self}].bytes();
  encode_metrics(metrics, bytes);
  append_check(bytes);
  backup_metrics_[node] = metrics;
  return bytes;
}

// ---- what arrives

// Where the node of this frame of losses lies, if its sender may report it; nodes_.size() if not.
std::size_t RoundReports::node_of(const Frame& frame) const {
  const std::size_t index = nodes_.index_of(MetricsBody::from(frame).tree_node);
  const bool may = index < nodes_.size() && (shape_.backup_workers || nodes_[index].member == frame.from);
  return may ? index : nodes_.size();
}

std::span<std::byte> RoundReports::place(const Frame& frame) {
  const std::size_t shards = shards_of(shape_.members[frame.from]);
  if (frame.kind == FrameKind::header) {
    if (frame.bytes > encoded_header_bytes(shards) + kCheckBytes) return {};
    header_bytes_[frame.from].resize(frame.bytes);
    return header_bytes_[frame.from];
  }
  if (MetricsBody::from(frame).tree_node != 0) return place_backup(frame);
  if (frame.bytes > shards * sizeof(ShardMetrics) + kAuditReportsMax * sizeof(AuditReport) + kCheckBytes)
    return {};
  return metrics_bytes_[frame.from].place(frame.bytes);
}

std::span<std::byte> RoundReports::place_backup(const Frame& frame) {
  const std::size_t index = node_of(frame);
  if (index == nodes_.size() || backup_metrics_[index]) return {};
  const auto leaves = nodes_.leaves(nodes_[index].node);
  if (frame.bytes > (leaves.end - leaves.begin) * sizeof(ShardMetrics) + kCheckBytes) return {};
  return backup_bytes_[{index, frame.from}].place(frame.bytes);
}

RoundReports::News RoundReports::arrived(const Frame& frame, std::span<const std::byte> payload) {
  if (frame.kind == FrameKind::header) return header_arrived(frame, payload);
  if (MetricsBody::from(frame).tree_node != 0) return backup_arrived(frame, payload);
  return metrics_arrived(frame, payload);
}

void RoundReports::ended(std::uint32_t member, const Frame& frame, const std::byte* place) {
  const NodeId node = MetricsBody::from(frame).tree_node;
  if (node == 0) return metrics_bytes_[member].ended(place);
  const auto found = backup_bytes_.find({nodes_.index_of(node), member});
  if (found != backup_bytes_.end()) found->second.ended(place);
}

RoundReports::News RoundReports::header_arrived(const Frame& frame, std::span<const std::byte> payload) {
  const auto& member = shape_.members[frame.from];
  auto& header = headers_[frame.from];
  if (header) return {};
  const bool can_be = header.fill([&](RoundHeader& out) {
    return take_check(payload) && decode_header(payload, shards_of(member), out) &&
           out.round == frame.round && speaks_for(out, member);
  });
  if (!can_be) return {What::damaged, "a header that cannot be"};
  ++headers_in_;
  return {What::of_member, {}};
}

// Losses, and what was audited.
RoundReports::News RoundReports::metrics_arrived(const Frame& frame, std::span<const std::byte> payload) {
  static_assert(MetricsBody::kAuditsMax == kAuditReportsMax);
  auto& metrics = metrics_[frame.from];
  if (metrics) return {};
  const auto body = MetricsBody::from(frame);
  const bool can_be = body.invalid().empty() && take_check(payload) &&
                      take_audits(payload, body.audits, audits_[frame.from]) && metrics.fill([&](auto& out) {
                        return decode_metrics(payload, shards_of(shape_.members[frame.from]), out);
                      });
  if (!can_be) return {What::damaged, "metrics that cannot be"};
  ++metrics_in_;
  std::string differs = difference(frame.from);
  if (!differs.empty()) return {What::diverged, std::move(differs)};
  return {What::of_member, {}};
}

RoundReports::News RoundReports::backup_arrived(const Frame& frame, std::span<const std::byte> payload) {
  const std::size_t index = node_of(frame);
  if (index == nodes_.size() || payload.empty() || backup_metrics_[index]) return {};
  const auto leaves = nodes_.leaves(nodes_[index].node);
  const bool can_be = backup_metrics_[index].fill([&](auto& metrics) {
    return take_check(payload) && decode_metrics(payload, leaves.end - leaves.begin, metrics) &&
           std::all_of(metrics.begin(), metrics.end(), [&](const ShardMetrics& m) {
             return m.shard >= leaves.begin && m.shard < leaves.end;
           });
  });
  if (!can_be) return {What::damaged, "metrics that cannot be"};
  std::string differs = difference(nodes_[index].member);
  if (!differs.empty()) return {What::diverged, std::move(differs)};
  return {What::of_backup_worker, {}};
}

std::string RoundReports::name(std::uint32_t member) const {
  return "replica " + std::to_string(shape_.members[member].peer);
}

// What a member and its backup worker have computed with other bits; empty: nothing.
std::string RoundReports::difference(std::uint32_t member) const {
  if (!metrics_[member]) return {};
  const auto& own = *metrics_[member];
  const auto nodes = nodes_.of(member);
  for (std::size_t i = nodes.first; i < nodes.end; ++i) {
    if (!backup_metrics_[i]) continue;
    for (const ShardMetrics& other : *backup_metrics_[i]) {
      const auto same = [&](const ShardMetrics& of) {  // to the bit: a loss may be NaN
        return std::memcmp(&of, &other, sizeof of) == 0;
      };
      if (std::any_of(own.begin(), own.end(), same)) continue;
      return "diverged: the losses of shard " + std::to_string(other.shard) + ", computed by " +
             name(member) + " and by its backup worker, differ";
    }
  }
  return {};
}

// ---- what is known

bool RoundReports::is_present(std::size_t node) const {
  const auto leaves = nodes_.leaves(nodes_[node].node);
  const auto& reports = headers_[nodes_[node].member]->shards;
  return std::any_of(reports.begin(), reports.end(), [&](const ShardReport& report) {
    return report.present() && report.shard >= leaves.begin && report.shard < leaves.end;
  });
}

bool RoundReports::complete(std::uint32_t member) const {
  if (metrics_[member]) return true;
  if (!shape_.backup_workers || !headers_[member] || headers_[member]->kind != RoundKind::train) return false;
  const auto nodes = nodes_.of(member);
  for (std::size_t i = nodes.first; i < nodes.end; ++i) {
    if (!backup_metrics_[i] && is_present(i)) return false;
  }
  const auto& reports = headers_[member]->shards;
  return std::any_of(reports.begin(), reports.end(),
                     [](const ShardReport& report) { return report.present(); });
}

bool RoundReports::all_complete() const {
  if (metrics_in_ == metrics_.size()) return true;
  if (!shape_.backup_workers) return false;
  for (std::uint32_t member = 0; member < metrics_.size(); ++member) {
    if (!complete(member)) return false;
  }
  return true;
}

void RoundReports::append_metrics(std::uint32_t member, std::vector<ShardMetrics>& to) const {
  const auto append = [&](const std::vector<ShardMetrics>& metrics) {
    to.insert(to.end(), metrics.begin(), metrics.end());
  };
  if (metrics_[member]) return append(*metrics_[member]);
  const auto nodes = nodes_.of(member);
  for (std::size_t i = nodes.first; i < nodes.end; ++i) {
    if (backup_metrics_[i]) append(*backup_metrics_[i]);
  }
}

}  // namespace muster
