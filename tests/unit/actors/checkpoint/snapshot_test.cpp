// A snapshot as bytes: what was put in comes back, and no damage is believed.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "actors/checkpoint/snapshot.hpp"
#include "base/bytes.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "tests/support/whole_snapshot.hpp"

namespace muster {
namespace {

constexpr std::uint32_t kThreeShards = 3;
constexpr SnapshotBounds kBounds{kThreeShards, 7, 5};

ReplicaPlace some_place() {
  ReplicaPlace place;
  place.records = 41;
  place.record_hash = 0x1234567890abcdef;
  place.cursor = {Mode::evaluate, 2, 9};
  place.deferred = {{{4, {0, 2}}, {7, {1}}}, true};
  place.steps = 39;
  place.samples = 1000;
  place.ledger.begin_epoch(1, 100, kThreeShards);
  place.ledger.commit(1, 0, {0, 34});
  place.ledger.finish(false, 3);
  place.ledger.begin_epoch(2, 400, kThreeShards);
  place.ledger.commit(2, 0, {60, 9});
  place.ledger.commit(2, 0, {60, 9});
  place.ledger.commit(2, 2, {0, 128});
  place.dropped = 4;
  place.epoch_loss = 0.1;
  place.epoch_weight = 3;
  place.seen = {7, {0, 2}};
  place.closed = {0, 2, true, 39, 1000, 100, 1, 2, 3, true, 0.5, 0.25, 0.125};
  place.told = {{0, 1, false, 20, 500, 34, 0, 0, 3, false, 0, 0, 0.7}};
  place.state_sha256 = std::string(64, 'a');
  return place;
}

Snapshot some_snapshot() {
  Snapshot snapshot;
  snapshot.place = some_place();
  snapshot.state = {1, -0.0F, 3, 4, 5, 6, 7};
  snapshot.slots = {{"exp_avg", {1, 2, 3, 4, 5}}, {"exp_avg_sq", {5, 4, 3, 2, 1}}};
  return snapshot;
}

// Bytes whose digest is right again, so that what stands before it is looked at.
std::vector<std::byte> signed_anew(std::vector<std::byte> bytes) {
  bytes.resize(bytes.size() - 64);
  const std::string digest = sha256_hex(bytes);
  const auto text = std::as_bytes(std::span(digest));
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

TEST(Snapshot, ComesBackAsItWas) {
  const Snapshot snapshot = some_snapshot();
  const auto bytes = encode_snapshot(snapshot);
  const auto back = decode_snapshot(bytes, kBounds);
  ASSERT_TRUE(back);
  EXPECT_EQ(encode_snapshot(*back), bytes);
  EXPECT_EQ(back->slots, snapshot.slots);
  EXPECT_EQ(std::memcmp(back->state.data(), snapshot.state.data(), 7 * sizeof(float)), 0);
  EXPECT_EQ(back->place.ledger.state(), snapshot.place.ledger.state());
  EXPECT_EQ(back->place.cursor, snapshot.place.cursor);
  EXPECT_EQ(back->place.deferred, snapshot.place.deferred);
  EXPECT_EQ(back->place.seen, snapshot.place.seen);
  ASSERT_EQ(back->place.told.size(), 1u);
  EXPECT_TRUE(back->place.told[0].same_as(snapshot.place.told[0]));
  EXPECT_TRUE(back->place.closed.same_as(snapshot.place.closed));
  EXPECT_EQ(back->place.records, 41u);
}

TEST(Snapshot, ThePlaceStandsOnItsOwnAndKeepsNoSlot) {
  ReplicaPlace place = some_place();
  const auto bytes = encode_place(place);
  place.closed.slot = place.told[0].slot = 5;
  EXPECT_EQ(encode_place(place), bytes);
  const auto back = decode_place(bytes, kThreeShards);
  ASSERT_TRUE(back);
  EXPECT_EQ(encode_place(*back), bytes);
  EXPECT_FALSE(decode_place(bytes, kThreeShards - 1));  // the open epoch has more shards
}

TEST(Snapshot, ATruncatedOneIsRefused) {
  const auto bytes = encode_snapshot(some_snapshot());
  const auto place = encode_place(some_place());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(decode_snapshot(cut, kBounds)) << length;
    if (length > 64) {
      EXPECT_FALSE(decode_snapshot(signed_anew(cut), kBounds)) << length;
    }
  }
  for (std::size_t length = 0; length < place.size(); ++length) {
    const std::vector<std::byte> cut(place.begin(), place.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(decode_place(cut, kThreeShards)) << length;
    if (length > 64) {
      EXPECT_FALSE(decode_place(signed_anew(cut), kThreeShards)) << length;
    }
  }
}

TEST(Snapshot, AFlippedBitIsRefused) {
  const auto bytes = encode_snapshot(some_snapshot());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(decode_snapshot(flipped, kBounds)) << bit;
  }
}

// With a right digest every byte is looked at as it is: whatever stands there, lengths too, a decoder takes
// no more than there is, and what it takes it gives back.
TEST(Snapshot, NoLengthIsBelieved) {
  const auto place = encode_place(some_place());
  const auto whole = encode_snapshot(some_snapshot());
  for (std::size_t at = 0; at < whole.size() - 64; ++at) {
    for (const std::byte value : {std::byte{0xff}, std::byte{0x7f}, std::byte{0}, std::byte{1}}) {
      if (at < place.size() - 64) {
        auto other = place;
        other[at] = value;
        other = signed_anew(std::move(other));
        if (const auto taken = decode_place(other, kThreeShards)) {
          EXPECT_EQ(encode_place(*taken), other) << at;
        }
      }
      auto other = whole;
      other[at] = value;
      other = signed_anew(std::move(other));
      if (const auto taken = decode_snapshot(other, kBounds)) {
        EXPECT_EQ(encode_snapshot(*taken), other) << at;
      }
    }
  }
}

TEST(Snapshot, OneOfOtherShapesIsRefused) {
  const auto bytes = encode_snapshot(some_snapshot());
  EXPECT_TRUE(decode_snapshot(bytes, kBounds));
  EXPECT_FALSE(decode_snapshot(bytes, {kThreeShards, 6, 5}));
  EXPECT_FALSE(decode_snapshot(bytes, {kThreeShards, 8, 5}));
  EXPECT_FALSE(decode_snapshot(bytes, {kThreeShards, 7, 4}));
  EXPECT_FALSE(decode_snapshot(bytes, {kThreeShards, 7, 6}));
}

TEST(Snapshot, ALedgerThatCannotBeIsRefused) {
  const LedgerState good = some_place().ledger.state();
  EXPECT_TRUE(Ledger::restored(good, kThreeShards));
  EXPECT_FALSE(Ledger::restored(good, kThreeShards + 1));
  const auto refused = [&](auto change) {
    LedgerState state = good;
    change(state);
    return !Ledger::restored(state, kThreeShards);
  };
  EXPECT_TRUE(refused([](LedgerState& s) { s.used += 1; }));
  EXPECT_TRUE(refused([](LedgerState& s) { s.open = false; }));
  EXPECT_TRUE(refused([](LedgerState& s) { s.samples = 100; }));          // shard 2 is shorter than that
  EXPECT_TRUE(refused([](LedgerState& s) { s.shards[0].end -= 1; }));     // a bit beyond the end
  EXPECT_TRUE(refused([](LedgerState& s) { s.shards[0].end += 1; }));     // an end that nobody reached
  EXPECT_TRUE(refused([](LedgerState& s) { s.shards[1].words = {0}; }));  // words without an end
  EXPECT_TRUE(refused([](LedgerState& s) { s.shards[2].words.clear(); }));
}

TEST(Bytes, TheFirstMissingValueLatches) {
  std::vector<std::byte> bytes;
  ByteWriter out(bytes);
  out.put(std::uint32_t{7});
  out.put(std::string("seven"));
  ByteReader in(bytes);
  EXPECT_EQ(in.take<std::uint32_t>(), 7u);
  EXPECT_EQ(in.take_text(4), "");  // longer than allowed
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.take<std::uint64_t>(), 0u);
  EXPECT_FALSE(in.complete());
  ByteReader again(bytes);
  again.take<std::uint32_t>();
  EXPECT_EQ(again.take_text(5), "seven");
  EXPECT_TRUE(again.complete());
}

}  // namespace
}  // namespace muster
