// One round: an exchange in which every member of a view says what it adds, and after which all hold the same
// record. A training step is a round; so are the end of an epoch (all shards ended, no step number), an
// evaluation (metrics only) and the greeting by which the members of a new view prove that every pair can
// talk. A step that needs a sum before its gradients can be added (train.compression) has a round for that
// before its own: the sketch. It has no losses, and changes nothing that outlives its view. Before what
// depends on the weights of all (a checkpoint, a newcomer's first step, the end) they are compared in a round
// that has nothing but headers: the check.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/traffic.hpp"

namespace muster {

enum class RoundKind : std::uint32_t { train = 0, evaluate = 1, greeting = 2, sketch = 3, check = 4 };

/// Whether members add elements up in it.
constexpr bool has_sums(RoundKind kind) {
  return kind == RoundKind::train || kind == RoundKind::sketch;
}

/// Whether its record counts, and can be transferred to others; else it changes nothing that outlives its
/// view.
constexpr bool is_recorded(RoundKind kind) {
  return kind == RoundKind::train || kind == RoundKind::evaluate;
}

/// What one shard adds to one training round. `first` and `count` name the positions that it used
/// (shard-local).
struct ShardReport {
  std::uint32_t shard = 0;
  std::uint32_t ended = 0;     ///< 1: the shard has nothing left in this epoch, and is an absent leaf
  std::uint32_t rows = 0;      ///< samples, without padding
  std::uint32_t is_short = 0;  ///< 1: fewer rows than a full micro-batch
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  double weight = 0;  ///< what it adds to the divisor

  /// In `ended`: the step goes on without the shard, which is an absent leaf; its samples are deferred.
  static constexpr std::uint32_t kLeftOut = 2;

  /// Whether the shard is a leaf of this round's tree. A hole (rows 0, not ended) is absent, too.
  bool present() const { return ended == 0 && rows > 0; }

  bool operator==(const ShardReport&) const = default;
};
static_assert(sizeof(ShardReport) == 40);

/// Sums over one shard's samples in one round.
struct ShardMetrics {
  std::uint32_t shard = 0;
  std::uint32_t bad_sample = 0;  ///< of the shard whose loss is NaN or Inf: a sample that is; 0: none
  double loss = 0;
  double correct = 0;
  double weight = 0;

  bool operator==(const ShardMetrics&) const = default;
};
static_assert(sizeof(ShardMetrics) == 32);

/// What adding and copying took a member in a round, by variant (SumVariant), in nanoseconds; 0: not
/// known.
using VariantTimes = std::array<std::uint32_t, 3>;

/// A hash over weights as they stood behind a step: of one block (actors/rules/steps/weight_blocks.hpp), or
/// of all.
struct WeightsHash {
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::uint32_t kWhole = 0xfffffffe;

  std::uint64_t step = 0;
  std::uint32_t block = kNone;
  std::uint64_t hash = 0;

  /// Whether both are of the same weights, and can be compared.
  bool compares(const WeightsHash& other) const {
    return block != kNone && block == other.block && step == other.step;
  }
  bool operator==(const WeightsHash&) const = default;
};

/// A hash of the gradient of one shard in one round, as a member has computed it; of the member that owns the
/// shard, and of the one that audits it (actors/rules/steps/audit.hpp).
struct AuditReport {
  std::uint32_t shard = 0;
  std::uint32_t reserved = 0;
  std::uint64_t hash = 0;

  bool operator==(const AuditReport&) const = default;
};
static_assert(sizeof(AuditReport) == 16);

/// Most that one member says in a round: of a shard of its own, and of two others.
inline constexpr std::size_t kAuditReportsMax = 3;

/// What a member says when it opens a round.
struct RoundHeader {
  std::uint64_t round = 0;  ///< counts from 0 within a view
  RoundKind kind = RoundKind::train;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;           ///< the step number that the round will take if it is one
  std::uint64_t applied = 0;        ///< last step that this member has applied
  std::uint64_t record_hash = 0;    ///< of the round before; members that differ have diverged
  WeightsHash weights;              ///< of this member; where they compare, members that differ are corrupt
  VariantTimes variant_times{};     ///< of this member; the next round with sums goes by those of all
  std::vector<ShardReport> shards;  ///< of this member's shards, ascending; train only

  bool operator==(const RoundHeader&) const = default;
};

/// What every member holds after a round; the same bits everywhere.
struct RoundRecord {
  std::uint64_t round = 0;
  RoundKind kind = RoundKind::train;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::vector<ShardReport> shards;    ///< all shards, ascending; train only
  std::vector<ShardMetrics> metrics;  ///< ascending by shard; only shards that were present
  double weight = 0;                  ///< train: the divisor; 0: every shard has ended
  std::uint64_t hash = 0;
  // Where the time went, and what it cost; not the same on all, neither hashed nor transferred:
  std::uint32_t last_report_of = 0;            ///< the peer whose report (header, losses) came last
  std::chrono::nanoseconds last_report_at{0};  ///< when it came
  /// For how long parts of this member's sums were under way while it still computed the rest.
  std::chrono::nanoseconds hidden{0};
  Traffic sent;  ///< by this node, since the round before was over

  bool all_ended() const { return weight == 0; }
};

std::size_t encoded_header_bytes(std::size_t shards);
std::size_t encoded_record_bytes_max(std::size_t shards, std::size_t elements);
void encode_header(const RoundHeader& header, std::vector<std::byte>& out);
/// False, and `header` as it may be, if the bytes are not one with at most `shards_max` shards.
bool decode_header(std::span<const std::byte> bytes, std::size_t shards_max, RoundHeader& header);

void encode_metrics(std::span<const ShardMetrics> metrics, std::vector<std::byte>& out);
bool decode_metrics(std::span<const std::byte> bytes, std::size_t shards_max,
                    std::vector<ShardMetrics>& metrics);
/// The audit reports stand behind the metrics; the frame says how many there are.
void append_audits(std::span<const AuditReport> reports, std::vector<std::byte>& out);
/// Takes them off the end of `bytes`; false if there are not so many, or more than a member has.
bool take_audits(std::span<const std::byte>& bytes, std::uint64_t count, std::vector<AuditReport>& reports);

/// A whole record and, if it was a step, its result: what a member transfers to one that missed it.
void encode_record(const RoundRecord& record, std::span<const float> result, std::vector<std::byte>& out);
struct TransferredRecord {
  RoundRecord record;
  std::vector<float> result;
};
std::optional<TransferredRecord> decode_record(std::span<const std::byte> bytes, std::size_t shards_max,
                                               std::size_t elements_max);

/// Reports of a round carry a check of their payload behind it: what arrives damaged does not count.
inline constexpr std::size_t kCheckBytes = sizeof(std::uint64_t);
void append_check(std::vector<std::byte>& out);
/// False if it is not that of the bytes before it. Takes it off.
bool take_check(std::span<const std::byte>& bytes);

/// FNV-1a over 64-bit words; for records, not against adversaries.
std::uint64_t hash_words(std::uint64_t hash, std::span<const std::byte> bytes);
inline constexpr std::uint64_t kHashStart = 0xcbf29ce484222325ull;

}  // namespace muster
