#include "transport/collective/reduction/record_of_round.hpp"

#include <gtest/gtest.h>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;

// Two members with two shards each, as one of them sees the round.
class RecordOfRound : public ::testing::Test {
 protected:
  static RoundHeader header(std::uint32_t first_shard) {
    RoundHeader made;
    made.round = 5;
    made.epoch = 2;
    made.step = 33;
    made.record_hash = 1234;
    for (std::uint32_t shard = first_shard; shard < first_shard + 2; ++shard)
      made.shards.push_back({shard, 0, 4, 0, shard * 100, 4, 4.0});
    return made;
  }
  static std::vector<ShardMetrics> losses(std::uint32_t first_shard) {
    return {{first_shard, 0, 0.5 + first_shard, 1, 4}, {first_shard + 1, 0, 1.5 + first_shard, 1, 4}};
  }
  template <typename Encode>
  static std::vector<std::byte> encoded(const Encode& encode) {
    std::vector<std::byte> bytes;
    encode(bytes);
    append_check(bytes);
    return bytes;
  }
  static void arrive(RoundReports& reports, Frame frame, std::uint32_t from, std::vector<std::byte> bytes) {
    frame.from = from;
    frame.round = 5;
    frame.bytes = static_cast<std::uint32_t>(bytes.size());
    const auto place = reports.place(frame);
    ASSERT_EQ(place.size(), bytes.size());
    std::copy(bytes.begin(), bytes.end(), place.begin());
    ASSERT_EQ(reports.arrived(frame, place).what, RoundReports::News::What::of_member);
  }
  // As member `self` writes it.
  static RoundRecord record(std::uint32_t self) {
    const ReductionShape shape = small_view(2, 2, self);
    const MemberNodes nodes(shape);
    RoundReports reports(shape, nodes);
    const std::uint32_t other = 1 - self;
    reports.open(header(2 * self), {});
    arrive(reports, Frame{}, other, encoded([&](auto& bytes) { encode_header(header(2 * other), bytes); }));
    EXPECT_EQ(reports.contribute(losses(2 * self), {}), "");
    arrive(reports, frame_with(MetricsBody{0, 0}), other, encoded([&](auto& bytes) {
             encode_metrics(losses(2 * other), bytes);
             append_audits({}, bytes);
           }));
    Presence presence;
    presence.read(reports.headers(), shape.shards, true);
    RoundRecord record;
    write_reports(reports, presence, shape.shards, record);
    return record;
  }
};

TEST_F(RecordOfRound, HasTheReportsOfAllInTheOrderOfShards) {
  const RoundRecord record = this->record(1);
  EXPECT_EQ(record.round, 5u);
  EXPECT_EQ(record.kind, RoundKind::train);
  EXPECT_EQ(record.epoch, 2u);
  EXPECT_EQ(record.step, 33u);
  EXPECT_EQ(record.weight, 16.0);
  ASSERT_EQ(record.shards.size(), 4u);
  ASSERT_EQ(record.metrics.size(), 4u);
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    EXPECT_EQ(record.shards[shard].shard, shard);
    EXPECT_EQ(record.shards[shard].first, shard * 100);
    EXPECT_EQ(record.metrics[shard].shard, shard);
    EXPECT_EQ(record.metrics[shard].loss, losses(shard / 2 * 2)[shard % 2].loss);
  }
}

TEST_F(RecordOfRound, IsTheSameOnEachMember) {
  const RoundRecord one = record(0), other = record(1);
  EXPECT_EQ(one.hash, other.hash);
  EXPECT_EQ(one.shards, other.shards);
  EXPECT_EQ(one.metrics, other.metrics);
}

TEST_F(RecordOfRound, ItsHashGoesOnWithTheRecordBefore) {
  const RoundRecord record = this->record(0);
  std::uint64_t hash = hash_words(1234, std::as_bytes(std::span(record.shards)));
  hash = hash_words(hash, std::as_bytes(std::span(record.metrics)));
  EXPECT_EQ(record.hash, hash);
  EXPECT_NE(record.hash, 1234u);
}

}  // namespace
