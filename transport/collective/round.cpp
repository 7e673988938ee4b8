#include "muster/transport/collective/round.hpp"

#include <cstring>

namespace muster {

namespace {

struct WireHeader {
  std::uint64_t round, epoch, step, applied, record_hash;
  std::uint32_t kind, shards;
};
static_assert(sizeof(WireHeader) == 48);

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

}  // namespace

std::size_t encoded_header_bytes(std::size_t shards) { return sizeof(WireHeader) + shards * sizeof(ShardWord); }

void encode_header(const RoundHeader& header, std::vector<std::byte>& out) {
  const WireHeader wire{header.round,       header.epoch,
                        header.step,        header.applied,
                        header.record_hash, static_cast<std::uint32_t>(header.kind),
                        static_cast<std::uint32_t>(header.shards.size())};
  out.resize(encoded_header_bytes(header.shards.size()));
  std::memcpy(out.data(), &wire, sizeof wire);
  if (!header.shards.empty()) {
    std::memcpy(out.data() + sizeof wire, header.shards.data(), bytes_of(header.shards).size());
  }
}

std::optional<RoundHeader> decode_header(std::span<const std::byte> bytes, std::size_t shards_max) {
  WireHeader wire;
  if (bytes.size() < sizeof wire) return std::nullopt;
  std::memcpy(&wire, bytes.data(), sizeof wire);
  if (wire.kind > static_cast<std::uint32_t>(RoundKind::greeting) || wire.shards > shards_max ||
      bytes.size() != encoded_header_bytes(wire.shards)) {
    return std::nullopt;
  }
  RoundHeader header{wire.round,   static_cast<RoundKind>(wire.kind), wire.epoch, wire.step, wire.applied,
                     wire.record_hash, std::vector<ShardWord>(wire.shards)};
  if (wire.shards > 0) {
    std::memcpy(header.shards.data(), bytes.data() + sizeof wire, bytes.size() - sizeof wire);
  }
  return header;
}

void encode_metrics(std::span<const ShardMetrics> metrics, std::vector<std::byte>& out) {
  out.resize(metrics.size_bytes());
  if (!metrics.empty()) std::memcpy(out.data(), metrics.data(), metrics.size_bytes());
}

std::optional<std::vector<ShardMetrics>> decode_metrics(std::span<const std::byte> bytes, std::size_t shards_max) {
  const std::size_t count = bytes.size() / sizeof(ShardMetrics);
  if (bytes.size() % sizeof(ShardMetrics) != 0 || count > shards_max) return std::nullopt;
  std::vector<ShardMetrics> metrics(count);
  if (count > 0) std::memcpy(metrics.data(), bytes.data(), bytes.size());
  return metrics;
}

std::uint64_t hash_words(std::uint64_t hash, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    hash = (hash ^ word) * 0x100000001b3ull;
  }
  return hash;
}

}  // namespace muster
