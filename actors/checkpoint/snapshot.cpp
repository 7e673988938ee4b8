#include "actors/checkpoint/snapshot.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "gpu/optimizer/state_hash.hpp"

namespace muster {

namespace {

constexpr std::uint64_t kPlaceMagic = 0x32656361'6c70756d;     // "muplace2"
constexpr std::uint64_t kSnapshotMagic = 0x31706e73'7473756d;  // "mustsnp1"
constexpr std::size_t kDigestBytes = 64;                       // as hexadecimal digits
constexpr std::size_t kSlotsMax = 16;
constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kEpochBytesMin = 64;  // of one EpochEnd or LedgerRow as bytes, from below
constexpr std::uint64_t kListMax = std::uint64_t{1} << 40;  // lists that only the bytes themselves bound

void put(ByteWriter& out, const EpochEnd& row) {
  out.put(row.epoch);
  out.put(row.complete);
  for (const std::uint64_t value :
       {row.steps, row.samples, row.used, row.repeated, row.missed, row.dropped}) {
    out.put(value);
  }
  out.put(row.evaluated);
  for (const double value : {row.loss, row.accuracy, row.train_loss}) out.put(value);
}

EpochEnd take_epoch(ByteReader& in) {
  EpochEnd row;
  row.epoch = in.take<std::uint64_t>();
  row.complete = in.take_bool();
  for (auto* value : {&row.steps, &row.samples, &row.used, &row.repeated, &row.missed, &row.dropped}) {
    *value = in.take<std::uint64_t>();
  }
  row.evaluated = in.take_bool();
  for (auto* value : {&row.loss, &row.accuracy, &row.train_loss}) *value = in.take<double>();
  return row;
}

void put(ByteWriter& out, const LedgerState& ledger) {
  out.put(ledger.open);
  out.put(ledger.epoch);
  out.put(ledger.samples.has_value());
  out.put(ledger.samples.value_or(0));
  out.put(ledger.used);
  out.put(ledger.repeated);
  out.put(static_cast<std::uint64_t>(ledger.shards.size()));
  for (const auto& bits : ledger.shards) {
    out.put(bits.end);
    out.put_all(std::span<const std::uint64_t>(bits.words));
  }
  out.put(static_cast<std::uint64_t>(ledger.rows.size()));
  for (const LedgerRow& row : ledger.rows) {
    out.put(row.complete);
    for (const std::uint64_t value : {row.epoch, row.used, row.repeated, row.missed, row.dropped}) {
      out.put(value);
    }
  }
}

LedgerState take_ledger(ByteReader& in, std::uint32_t shards) {
  LedgerState ledger;
  ledger.open = in.take_bool();
  ledger.epoch = in.take<std::uint64_t>();
  const bool known = in.take_bool();
  const auto samples = in.take<std::uint64_t>();
  if (known) ledger.samples = samples;
  if (!known && samples != 0) in.fail();
  ledger.used = in.take<std::uint64_t>();
  ledger.repeated = in.take<std::uint64_t>();
  ledger.shards.resize(in.take_length(shards, 2 * sizeof(std::uint64_t)));
  for (auto& bits : ledger.shards) {
    bits.end = in.take<std::uint64_t>();
    bits.words = in.take_all<std::uint64_t>(kListMax);
  }
  ledger.rows.resize(in.take_length(kListMax, 5 * sizeof(std::uint64_t)));
  for (LedgerRow& row : ledger.rows) {
    row.complete = in.take_bool();
    for (auto* value : {&row.epoch, &row.used, &row.repeated, &row.missed, &row.dropped}) {
      *value = in.take<std::uint64_t>();
    }
  }
  return ledger;
}

void put(ByteWriter& out, const DeferredBatches& deferred) {
  out.put(deferred.replaying);
  out.put(static_cast<std::uint64_t>(deferred.steps.size()));
  for (const DeferredStep& deferred_step : deferred.steps) {
    out.put(deferred_step.step);
    out.put_all(std::span<const std::uint32_t>(deferred_step.shards));
  }
}

DeferredBatches take_deferred(ByteReader& in, std::uint32_t shards) {
  DeferredBatches deferred;
  deferred.replaying = in.take_bool();
  deferred.steps.resize(in.take_length(kListMax, 2 * sizeof(std::uint64_t)));
  for (DeferredStep& deferred_step : deferred.steps) {
    deferred_step.step = in.take<std::uint64_t>();
    deferred_step.shards = in.take_all<std::uint32_t>(shards);
    const bool ascending = std::adjacent_find(deferred_step.shards.begin(), deferred_step.shards.end(),
                                              std::greater_equal<>()) == deferred_step.shards.end();
    if (deferred_step.shards.empty() || !ascending || deferred_step.shards.back() >= shards) in.fail();
  }
  if (deferred.replaying && deferred.steps.empty()) in.fail();
  return deferred;
}

void append_digest(std::vector<std::byte>& bytes) {
  const std::string digest = sha256_hex(bytes);
  const auto text = std::as_bytes(std::span(digest));
  bytes.insert(bytes.end(), text.begin(), text.end());
}

// What stands before the digest; nothing if the digest is not that of it.
std::optional<std::span<const std::byte>> without_digest(std::span<const std::byte> bytes) {
  if (bytes.size() < kDigestBytes) return std::nullopt;
  const auto content = bytes.first(bytes.size() - kDigestBytes);
  const std::string digest = sha256_hex(content);
  if (!std::ranges::equal(bytes.last(kDigestBytes), std::as_bytes(std::span(digest)))) return std::nullopt;
  return content;
}

}  // namespace

void seal(Snapshot& snapshot) {
  if (snapshot.place.state_sha256.empty()) snapshot.place.state_sha256 = state_sha256(snapshot.state);
}

std::vector<std::byte> encode_place(const ReplicaPlace& place) {
  std::vector<std::byte> bytes;
  ByteWriter out(bytes);
  out.put(kPlaceMagic);
  out.put(place.records);
  out.put(place.record_hash);
  out.put(place.cursor.mode);
  out.put(place.cursor.epoch);
  out.put(place.cursor.step);
  put(out, place.deferred);
  out.put(place.steps);
  out.put(place.finished);
  out.put(place.samples);
  put(out, place.ledger.state());
  out.put(place.dropped);
  out.put(place.epoch_loss);
  out.put(place.epoch_weight);
  out.put(place.seen.longest);
  const std::vector<std::uint32_t> told(place.seen.told_shards.begin(), place.seen.told_shards.end());
  out.put_all(std::span<const std::uint32_t>(told));
  put(out, place.closed);
  out.put(static_cast<std::uint64_t>(place.told.size()));
  for (const EpochEnd& row : place.told) put(out, row);
  out.put(place.state_sha256);
  append_digest(bytes);
  return bytes;
}

std::optional<ReplicaPlace> decode_place(std::span<const std::byte> bytes, std::uint32_t shards) {
  const auto content = without_digest(bytes);
  if (!content) return std::nullopt;
  ByteReader in(*content);
  if (in.take<std::uint64_t>() != kPlaceMagic) return std::nullopt;
  ReplicaPlace place;
  place.records = in.take<std::uint64_t>();
  place.record_hash = in.take<std::uint64_t>();
  const auto mode = in.take<std::uint8_t>();
  if (mode > static_cast<std::uint8_t>(Mode::evaluate)) return std::nullopt;
  place.cursor.mode = static_cast<Mode>(mode);
  place.cursor.epoch = in.take<std::uint64_t>();
  place.cursor.step = in.take<std::uint64_t>();
  place.deferred = take_deferred(in, shards);
  place.steps = in.take<std::uint64_t>();
  place.finished = in.take_bool();
  place.samples = in.take<std::uint64_t>();
  auto ledger = Ledger::restored(take_ledger(in, shards), shards);
  place.dropped = in.take<std::uint64_t>();
  place.epoch_loss = in.take<double>();
  place.epoch_weight = in.take<double>();
  place.seen.longest = in.take<std::uint64_t>();
  for (const std::uint32_t shard : in.take_all<std::uint32_t>(shards)) {
    auto& told = place.seen.told_shards;
    if (shard >= shards || (!told.empty() && shard <= *told.rbegin())) return std::nullopt;
    told.insert(shard);
  }
  place.closed = take_epoch(in);
  place.told.resize(in.take_length(kListMax, kEpochBytesMin));
  for (EpochEnd& row : place.told) row = take_epoch(in);
  place.state_sha256 = in.take_text(kDigestBytes);
  if (!in.complete() || !ledger || place.cursor.epoch == 0) return std::nullopt;
  place.ledger = std::move(*ledger);
  return place;
}

std::shared_ptr<const TransferPayload> snapshot_transfer(std::shared_ptr<const Snapshot> snapshot) {
  auto transfer = std::make_shared<TransferPayload>(snapshot);
  Sha256 hash;
  std::vector<std::byte> bytes;  // made here, and added before the floats that follow them
  ByteWriter out(bytes);
  const auto add_bytes = [&] {
    hash.add(bytes);
    transfer->add(std::exchange(bytes, {}));
  };
  const auto put_floats = [&](const std::vector<float>& values) {
    out.put(static_cast<std::uint64_t>(values.size()));
    add_bytes();
    hash.add(std::as_bytes(std::span(values)));
    transfer->add(std::as_bytes(std::span(values)));
  };
  out.put(kSnapshotMagic);
  out.put_all(std::span<const std::byte>(encode_place(snapshot->place)));
  put_floats(snapshot->state);
  out.put(static_cast<std::uint64_t>(snapshot->slots.size()));
  for (const auto& slot : snapshot->slots) {
    out.put(slot.name);
    put_floats(slot.values);
  }
  add_bytes();
  const std::string digest = hash.hex();
  const auto text = std::as_bytes(std::span(digest));
  transfer->add(std::vector<std::byte>(text.begin(), text.end()));
  return transfer;
}

std::optional<SnapshotView> view_snapshot(std::span<const std::byte> bytes, const SnapshotBounds& bounds) {
  const auto content = without_digest(bytes);
  if (!content) return std::nullopt;
  ByteReader in(*content);
  if (in.take<std::uint64_t>() != kSnapshotMagic) return std::nullopt;
  auto place = decode_place(in.take_span(content->size()), bounds.shards);
  if (!place) return std::nullopt;
  const auto take_floats = [&](std::size_t count) {
    const std::size_t found = in.take_length(count, sizeof(float));
    if (found != count) in.fail();
    return in.take_bytes(in.failed() ? 0 : count * sizeof(float));
  };
  SnapshotView snapshot;
  snapshot.place = std::move(*place);
  snapshot.state = take_floats(bounds.elements);
  snapshot.slots.resize(in.take_length(kSlotsMax, sizeof(std::uint64_t)));
  for (auto& slot : snapshot.slots) {
    slot.name = in.take_text(kNameBytesMax);
    slot.values = take_floats(bounds.parameters);
  }
  if (!in.complete()) return std::nullopt;
  return snapshot;
}

}  // namespace muster
