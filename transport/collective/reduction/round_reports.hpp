// The reports of one round: headers, losses and audits, of all members, as they arrive. A frame that comes
// twice counts once.
//
// A backup worker reports the losses of a node in the stead of a late member. Whichever report comes first
// counts; both have the same bits, and where both come, they are compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/collective/reduction/arrival_buffer.hpp"
#include "transport/collective/reduction/member_nodes.hpp"
#include "transport/collective/rounds/kept.hpp"
#include "transport/collective/rounds/round.hpp"
#include "transport/collective/sums/reduction_shape.hpp"
#include "transport/frames/round_bodies.hpp"

namespace muster {

class RoundReports {
 public:
  /// What an arrival means for the round.
  struct News {
    enum class What {
      none,              ///< it was known, or nobody needs it
      of_member,         ///< a report of the member itself is new
      of_backup_worker,  ///< a report in its stead is new
      damaged,           ///< `text`: what the sender has sent
      diverged,          ///< `text`: which losses differ
    };
    What what = What::none;
    std::string text;
  };

  /// Both outlive this object.
  RoundReports(const ReductionShape& shape, const MemberNodes& nodes);
  /// For the next round. Memory stays.
  void reset();

  // ---- what this member reports. The bytes are to be sent, and stay until `reset`.
  std::span<const std::byte> open(const RoundHeader& header, const VariantTimes& times);
  /// Returns what has diverged, if a backup worker has reported other losses.
  std::string contribute(const std::vector<ShardMetrics>& metrics, const std::vector<AuditReport>& audits);
  std::span<const std::byte> own_losses() { return metrics_bytes_[shape_.self].bytes(); }
  /// Whether the losses of a node of another member are not known.
  bool needs_backup(std::size_t node) const;
  std::span<const std::byte> add_backup(std::size_t node, const std::vector<ShardMetrics>& metrics);

  // ---- what arrives: frames of kind `header` or `metrics`; `from` is the sender's place among the members
  /// Nothing if nobody sends it who follows the protocol.
  std::span<std::byte> place(const Frame& frame);
  News arrived(const Frame& frame, std::span<const std::byte> payload);
  /// A placed payload of kind `metrics` has come, whether anybody still needs it or not: also of an earlier
  /// round.
  void ended(std::uint32_t member, const Frame& frame, const std::byte* place);

  // ---- what is known
  const std::vector<Kept<RoundHeader>>& headers() const { return headers_; }
  bool opened() const { return headers_[shape_.self].has_value(); }
  const RoundHeader& own_header() const { return *headers_[shape_.self]; }
  const std::vector<std::vector<AuditReport>>& audits() const { return audits_; }
  bool all_headers() const { return headers_in_ == headers_.size(); }
  /// Whether all that a member has to report is known, from it or from its backup worker.
  bool complete(std::uint32_t member) const;
  bool all_complete() const;
  void append_metrics(std::uint32_t member, std::vector<ShardMetrics>& to) const;

 private:
  std::size_t node_of(const Frame& frame) const;
  bool is_present(std::size_t node) const;
  std::string name(std::uint32_t member) const;
  std::string difference(std::uint32_t member) const;
  std::span<std::byte> place_backup(const Frame& frame);
  News header_arrived(const Frame& frame, std::span<const std::byte> payload);
  News metrics_arrived(const Frame& frame, std::span<const std::byte> payload);
  News backup_arrived(const Frame& frame, std::span<const std::byte> payload);

  const ReductionShape& shape_;
  const MemberNodes& nodes_;
  std::vector<std::vector<std::byte>> header_bytes_;      // by member; own: what is sent
  std::vector<ArrivalBuffer> metrics_bytes_;              // by member
  std::vector<Kept<RoundHeader>> headers_;                // by member
  std::vector<Kept<std::vector<ShardMetrics>>> metrics_;  // by member
  std::vector<std::vector<AuditReport>> audits_;          // by member
  // From backup workers: by node; and the bytes, by node and sender.
  std::vector<Kept<std::vector<ShardMetrics>>> backup_metrics_;
  std::map<std::pair<std::size_t, std::uint32_t>, ArrivalBuffer> backup_bytes_;
  std::size_t headers_in_ = 0, metrics_in_ = 0;
};

}  // namespace muster
