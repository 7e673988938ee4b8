// The reports of a round as they arrive: headers, losses and audits. A frame that comes twice counts once.
#include <algorithm>

#include "transport/collective/reduction/reduction.hpp"

namespace muster {

namespace {

bool speaks_for(const RoundHeader& header, const ReductionMember& member) {
  return std::all_of(header.shards.begin(), header.shards.end(), [&](const ShardReport& report) {
    return report.shard >= member.begin && report.shard < member.end;
  });
}

}  // namespace

// Each of these: whether there is a new report.
bool Reduction::header_arrived(Slot& target, const Frame& frame, std::span<const std::byte> payload) {
  const auto& member = shape_.members[frame.from];
  auto& header = target.headers[frame.from];
  if (header) return false;
  const bool can_be = header.fill([&](RoundHeader& out) {
    return take_check(payload) && decode_header(payload, member.end - member.begin, out) &&
           out.round == frame.round && speaks_for(out, member);
  });
  if (!can_be) {
    blame(frame.from, "a header that cannot be");
    return false;
  }
  ++target.headers_in;
  heard_report_of(frame.from);
  return true;
}

bool Reduction::metrics_arrived(Slot& target, const Frame& frame, std::span<const std::byte> payload) {
  if (MetricsBody::from(frame).tree_node != 0) return backup_arrived(target, frame, payload);
  if (target.metrics[frame.from]) return false;
  if (!take_reports(target, frame.from, frame, payload)) {
    blame(frame.from, "metrics that cannot be");
    return false;
  }
  ++target.metrics_in;
  if (!same_as_backup_workers(target, frame.from)) return false;
  heard_report_of(frame.from);
  return true;
}

void Reduction::heard_report_of(std::uint32_t member) {
  last_reporter_ = member;
  last_report_at_ = now();
}

// Losses, and what was audited.
bool Reduction::take_reports(Slot& target, std::uint32_t member, const Frame& frame,
                             std::span<const std::byte> payload) {
  static_assert(MetricsBody::kAuditsMax == kAuditReportsMax);
  const std::size_t shards = shape_.members[member].end - shape_.members[member].begin;
  auto& metrics = target.metrics[member];
  const auto body = MetricsBody::from(frame);
  return body.invalid().empty() && take_check(payload) &&
         take_audits(payload, body.audits, target.audits[member]) &&
         metrics.fill([&](auto& out) { return decode_metrics(payload, shards, out); });
}

// Damaged on its way, or by a member that does not keep to the protocol: the others may go on without it.
void Reduction::blame(std::uint32_t member, const std::string& what) {
  if (failed_) return;
  if (!hooks_.wrong) return fail(member_name(member) + " sent " + what);
  close();
  hooks_.wrong(shape_.members[member].peer, "it sent " + what);
}

}  // namespace muster
