#include "transport/collective/rounds/round.hpp"

#include <cstring>

#include "base/canary.hpp"

namespace muster {

namespace {

struct WireHeader {
  std::uint64_t round, epoch, step, applied, record_hash, weights_step, weights_hash;
  std::uint32_t kind, shards;
  VariantTimes variant_times;
  std::uint32_t weights_block;
};
static_assert(sizeof(WireHeader) == 80);

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

}  // namespace

std::size_t encoded_header_bytes(std::size_t shards) {
  return sizeof(WireHeader) + shards * sizeof(ShardReport);
}

void encode_header(const RoundHeader& header, std::vector<std::byte>& out) {
  const WireHeader wire{header.round,
                        header.epoch,
                        header.step,
                        header.applied,
                        header.record_hash,
                        header.weights.step,
                        header.weights.hash,
                        static_cast<std::uint32_t>(header.kind),
                        static_cast<std::uint32_t>(header.shards.size()),
                        header.variant_times,
                        header.weights.block};
  out.resize(encoded_header_bytes(header.shards.size()));
  std::memcpy(out.data(), &wire, sizeof wire);
  if (!header.shards.empty()) {
    std::memcpy(out.data() + sizeof wire, header.shards.data(), bytes_of(header.shards).size());
  }
}

bool decode_header(std::span<const std::byte> bytes, std::size_t shards_max, RoundHeader& header) {
  WireHeader wire;
  if (bytes.size() < sizeof wire) return false;
  std::memcpy(&wire, bytes.data(), sizeof wire);
  if (wire.kind > static_cast<std::uint32_t>(RoundKind::check) || wire.shards > shards_max ||
      bytes.size() != encoded_header_bytes(wire.shards)) {
    return false;
  }
  header.round = wire.round;
  header.kind = static_cast<RoundKind>(wire.kind);
  header.epoch = wire.epoch;
  header.step = wire.step;
  header.applied = wire.applied;
  header.record_hash = wire.record_hash;
  header.weights = {wire.weights_step, wire.weights_block, wire.weights_hash};
  header.variant_times = wire.variant_times;
  header.shards.resize(wire.shards);
  if (wire.shards > 0) {
    std::memcpy(header.shards.data(), bytes.data() + sizeof wire, bytes.size() - sizeof wire);
  }
  return true;
}

void encode_metrics(std::span<const ShardMetrics> metrics, std::vector<std::byte>& out) {
  out.resize(metrics.size_bytes());
  if (!metrics.empty()) std::memcpy(out.data(), metrics.data(), metrics.size_bytes());
}

bool decode_metrics(std::span<const std::byte> bytes, std::size_t shards_max,
                    std::vector<ShardMetrics>& metrics) {
  const std::size_t count = bytes.size() / sizeof(ShardMetrics);
  if (bytes.size() % sizeof(ShardMetrics) != 0 || count > shards_max) return false;
  metrics.resize(count);
  if (count > 0) std::memcpy(metrics.data(), bytes.data(), bytes.size());
  return true;
}

void append_audits(std::span<const AuditReport> reports, std::vector<std::byte>& out) {
  const auto bytes = std::as_bytes(reports);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

bool take_audits(std::span<const std::byte>& bytes, std::uint64_t count, std::vector<AuditReport>& reports) {
  if (count > kAuditReportsMax || bytes.size() < count * sizeof(AuditReport)) return false;
  reports.resize(count);
  const auto last = bytes.last(count * sizeof(AuditReport));
  if (count > 0) std::memcpy(reports.data(), last.data(), last.size());
  bytes = bytes.first(bytes.size() - last.size());
  return true;
}

namespace {

struct WireRecord {
  std::uint64_t round, epoch, step, hash;
  double weight;
  std::uint64_t elements;
  std::uint32_t kind, shards, metrics, reserved;
};
static_assert(sizeof(WireRecord) == 64);

constexpr std::uint64_t kCheckSeed = 0xcbf29ce484222325;

template <class T>
void append(std::vector<std::byte>& out, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
void take(std::span<const std::byte>& bytes, std::vector<T>& values) {
  if (values.empty()) return;
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  bytes = bytes.subspan(values.size() * sizeof(T));
}

}  // namespace

void encode_record(const RoundRecord& record, std::span<const float> result, std::vector<std::byte>& out) {
  const WireRecord wire{record.round,
                        record.epoch,
                        record.step,
                        record.hash,
                        record.weight,
                        result.size(),
                        static_cast<std::uint32_t>(record.kind),
                        static_cast<std::uint32_t>(record.shards.size()),
                        static_cast<std::uint32_t>(record.metrics.size()),
                        0};
  out.clear();
  out.reserve(sizeof wire + record.shards.size() * sizeof(ShardReport) +
              record.metrics.size() * sizeof(ShardMetrics) + result.size_bytes());
  append(out, std::span<const WireRecord>(&wire, 1));
  append(out, std::span<const ShardReport>(record.shards));
  append(out, std::span<const ShardMetrics>(record.metrics));
  append(out, result);
}

std::size_t encoded_record_bytes_max(std::size_t shards, std::size_t elements) {
  return sizeof(WireRecord) + shards * (sizeof(ShardReport) + sizeof(ShardMetrics)) +
         elements * sizeof(float);
}

std::optional<TransferredRecord> decode_record(std::span<const std::byte> bytes, std::size_t shards_max,
                                               std::size_t elements_max) {
  WireRecord wire;
  if (bytes.size() < sizeof wire) return std::nullopt;
  std::memcpy(&wire, bytes.data(), sizeof wire);
  if (wire.kind > static_cast<std::uint32_t>(RoundKind::sketch) || wire.shards > shards_max ||
      wire.metrics > shards_max || wire.elements > elements_max ||
      bytes.size() != sizeof wire + wire.shards * sizeof(ShardReport) + wire.metrics * sizeof(ShardMetrics) +
                          wire.elements * sizeof(float)) {
    return std::nullopt;
  }
  TransferredRecord handed;
  RoundRecord& record = handed.record;
  record.round = wire.round;
  record.kind = static_cast<RoundKind>(wire.kind);
  record.epoch = wire.epoch;
  record.step = wire.step;
  record.hash = wire.hash;
  record.weight = wire.weight;
  record.shards.resize(wire.shards);
  record.metrics.resize(wire.metrics);
  handed.result.resize(wire.elements);
  bytes = bytes.subspan(sizeof wire);
  take(bytes, record.shards);
  take(bytes, record.metrics);
  take(bytes, handed.result);
  return handed;
}

void append_check(std::vector<std::byte>& out) {
  const std::uint64_t check = hash_words(kCheckSeed, out);
  append(out, std::span<const std::uint64_t>(&check, 1));
}

bool take_check(std::span<const std::byte>& bytes) {
  if (bytes.size() < kCheckBytes) return false;
  std::uint64_t check = 0;
  std::memcpy(&check, bytes.last(kCheckBytes).data(), kCheckBytes);
  bytes = bytes.first(bytes.size() - kCheckBytes);
  return check == hash_words(kCheckSeed, bytes) || canary("damaged-words-count");
}

std::uint64_t hash_words(std::uint64_t hash, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t status = 0;
    std::memcpy(&status, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    hash = (hash ^ status) * 0x100000001b3ull;
  }
  return hash;
}

}  // namespace muster
