#include <gtest/gtest.h>

#include "tests/support/random_values.hpp"
#include "transport/collective/rounds/round.hpp"

namespace {

using namespace muster;
using oracle::RandomValues;

RoundHeader random_header(RandomValues& random, std::size_t shards) {
  RoundHeader header;
  header.round = random.below(~0ull);
  header.kind = static_cast<RoundKind>(random.below(5));
  header.epoch = random.below(~0ull);
  header.step = random.below(~0ull);
  header.applied = random.below(~0ull);
  header.record_hash = random.below(~0ull);
  header.weights = {random.below(~0ull), static_cast<std::uint32_t>(random.below(100)), random.below(~0ull)};
  for (auto& time : header.variant_times) time = static_cast<std::uint32_t>(random.below(1ull << 32));
  for (std::size_t i = 0; i < shards; ++i) {
    ShardReport report;
    report.shard = static_cast<std::uint32_t>(random.below(1u << 20));
    report.ended = static_cast<std::uint32_t>(random.below(2));
    report.rows = static_cast<std::uint32_t>(random.below(1000));
    report.is_short = static_cast<std::uint32_t>(random.below(2));
    report.first = random.below(~0ull);
    report.count = random.below(~0ull);
    report.weight = static_cast<double>(random.value());
    header.shards.push_back(report);
  }
  return header;
}

TEST(Round, HeaderSurvivesTheWire) {
  RandomValues random(5);
  for (std::size_t shards = 0; shards < 40; ++shards) {
    const RoundHeader header = random_header(random, shards);
    std::vector<std::byte> bytes(7);  // what was there before plays no part
    encode_header(header, bytes);
    EXPECT_EQ(bytes.size(), encoded_header_bytes(shards));
    for (const std::size_t most : {shards, shards + 10}) {
      RoundHeader decoded = random_header(random, 3);  // what was there before plays no part
      EXPECT_TRUE(decode_header(bytes, most, decoded));
      EXPECT_EQ(decoded, header);
    }
    RoundHeader refused;
    EXPECT_TRUE(shards == 0 || !decode_header(bytes, shards - 1, refused));
  }
}

TEST(Round, MetricsSurviveTheWire) {
  RandomValues random(6);
  for (std::size_t shards = 0; shards < 40; ++shards) {
    std::vector<ShardMetrics> metrics(shards);
    for (ShardMetrics& one : metrics) {
      one = {static_cast<std::uint32_t>(random.below(99)), 0, static_cast<double>(random.value()), 2, 3.5};
    }
    std::vector<std::byte> bytes;
    encode_metrics(metrics, bytes);
    std::vector<ShardMetrics> decoded(5);
    EXPECT_TRUE(decode_metrics(bytes, shards, decoded));
    EXPECT_EQ(decoded, metrics);
    EXPECT_TRUE(shards == 0 || !decode_metrics(bytes, shards - 1, decoded));
    bytes.push_back({});
    EXPECT_FALSE(decode_metrics(bytes, shards + 9, decoded));
  }
}

// Whatever the bytes: nothing, or a header that encodes to those very bytes.
TEST(Round, DamagedBytesNeverCrashAndNeverMeanMoreThanTheySay) {
  RandomValues random(7);
  constexpr std::size_t kShards = 6;
  std::vector<std::byte> bytes, again;
  for (int turn = 0; turn < 20000; ++turn) {
    encode_header(random_header(random, random.below(kShards + 1)), bytes);
    for (std::uint64_t damage = 1 + random.below(4); damage > 0; --damage) {
      if (random.chance(30)) bytes.resize(random.below(bytes.size() + 50));
      if (!bytes.empty()) bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    }
    RoundHeader header;
    if (decode_header(bytes, kShards, header)) {
      EXPECT_LE(header.shards.size(), kShards);
      encode_header(header, again);
      EXPECT_EQ(again, bytes);
    }
    std::vector<ShardMetrics> metrics;
    decode_metrics(bytes, kShards, metrics);
  }
}

TEST(Round, HashTellsBytesApart) {
  RandomValues random(8);
  std::vector<std::byte> bytes(100);
  const std::uint64_t before = hash_words(kHashStart, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte{1};
    EXPECT_NE(hash_words(kHashStart, bytes), before) << i;
    bytes[i] = std::byte{0};
  }
  EXPECT_EQ(hash_words(kHashStart, bytes), before);
}

TEST(Round, HoleIsNoLeaf) {
  ShardReport report;
  report.rows = 3;
  EXPECT_TRUE(report.present());
  report.rows = 0;
  EXPECT_FALSE(report.present());
  report.rows = 3;
  report.ended = 1;
  EXPECT_FALSE(report.present());
}

}  // namespace
