#include "transport/collective/reduction/round_reports.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/unit/transport/collective/reduction/reduction_shapes.hpp"

namespace {

using namespace muster;
using muster::testing::small_view;
using What = RoundReports::News::What;

// Two members with two shards each: nodes 2 and 3. This one is member 0.
class RoundReportsTest : public ::testing::Test {
 protected:
  explicit RoundReportsTest(bool backup_workers = true) : shape_(small_view(2, 2, 0)) {
    shape_.backup_workers = backup_workers;
  }

  static RoundHeader header(std::uint32_t first_shard, bool samples = true) {
    RoundHeader made;
    made.round = 5;
    for (std::uint32_t shard = first_shard; shard < first_shard + 2; ++shard)
      made.shards.push_back({shard, samples ? 0u : 1u, samples ? 4u : 0u, 0, 0, 4, 4.0});
    return made;
  }
  static std::vector<ShardMetrics> losses(std::uint32_t first_shard, double loss) {
    return {{first_shard, 0, loss, 1, 4}, {first_shard + 1, 0, loss, 1, 4}};
  }
  static std::vector<std::byte> encoded(const RoundHeader& header) {
    std::vector<std::byte> bytes;
    encode_header(header, bytes);
    append_check(bytes);
    return bytes;
  }
  static std::vector<std::byte> encoded(const std::vector<ShardMetrics>& metrics,
                                        const std::vector<AuditReport>& audits = {}) {
    std::vector<std::byte> bytes;
    encode_metrics(metrics, bytes);
    append_audits(audits, bytes);
    append_check(bytes);
    return bytes;
  }
  // As a frame of member 1.
  static Frame framed(Frame frame, std::size_t bytes) {
    frame.from = 1;
    frame.round = 5;
    frame.bytes = static_cast<std::uint32_t>(bytes);
    return frame;
  }
  RoundReports::News arrive(const Frame& bare, const std::vector<std::byte>& bytes) {
    const Frame frame = framed(bare, bytes.size());
    const auto place = reports_.place(frame);
    EXPECT_EQ(place.size(), bytes.size());
    if (place.size() != bytes.size()) return {};
    std::copy(bytes.begin(), bytes.end(), place.begin());
    return reports_.arrived(frame, place);
  }
  RoundReports::News arrive(const RoundHeader& header) { return arrive(Frame{}, encoded(header)); }
  RoundReports::News arrive(const std::vector<ShardMetrics>& metrics, NodeId node = 0) {
    return arrive(frame_with(MetricsBody{node, 0}), encoded(metrics));
  }

  ReductionShape shape_;
  MemberNodes nodes_{shape_};
  RoundReports reports_{shape_, nodes_};
};

TEST_F(RoundReportsTest, AreCompleteWhenAllMembersHaveReported) {
  EXPECT_FALSE(reports_.opened());
  reports_.open(header(0), {});
  EXPECT_TRUE(reports_.opened());
  EXPECT_FALSE(reports_.all_headers());
  EXPECT_EQ(arrive(header(2)).what, What::of_member);
  EXPECT_TRUE(reports_.all_headers());
  EXPECT_EQ(reports_.contribute(losses(0, 1), {}), "");
  EXPECT_TRUE(reports_.complete(0));
  EXPECT_FALSE(reports_.complete(1));
  EXPECT_FALSE(reports_.all_complete());
  EXPECT_EQ(arrive(losses(2, 3)).what, What::of_member);
  EXPECT_TRUE(reports_.all_complete());
  std::vector<ShardMetrics> all;
  reports_.append_metrics(0, all);
  reports_.append_metrics(1, all);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[3], (ShardMetrics{3, 0, 3, 1, 4}));
}

TEST_F(RoundReportsTest, SendWhatAnotherMemberReads) {
  const VariantTimes times{7, 8, 9};
  const auto bytes = reports_.open(header(0), times);
  std::span<const std::byte> payload = bytes;
  RoundHeader read;
  ASSERT_TRUE(take_check(payload) && decode_header(payload, 2, read));
  EXPECT_EQ(read.variant_times, times);
  EXPECT_EQ(read.shards, header(0).shards);
  reports_.contribute(losses(0, 1), {{1, 0, 42}});
  payload = reports_.own_losses();
  std::vector<AuditReport> audits;
  std::vector<ShardMetrics> metrics;
  ASSERT_TRUE(take_check(payload) && take_audits(payload, 1, audits) && decode_metrics(payload, 2, metrics));
  EXPECT_EQ(metrics, losses(0, 1));
  EXPECT_EQ(audits, reports_.audits()[0]);
}

TEST_F(RoundReportsTest, CountAReportThatComesTwiceOnce) {
  EXPECT_EQ(arrive(header(2)).what, What::of_member);
  EXPECT_EQ(arrive(header(2)).what, What::none);
  EXPECT_FALSE(reports_.all_headers());
  EXPECT_EQ(arrive(losses(2, 3)).what, What::of_member);
  EXPECT_EQ(arrive(losses(2, 4)).what, What::none);
  EXPECT_FALSE(reports_.all_complete());
}

TEST_F(RoundReportsTest, SayWhatIsDamaged) {
  auto bytes = encoded(header(2));
  bytes[9] ^= std::byte{1};
  const auto news = arrive(Frame{}, bytes);
  EXPECT_EQ(news.what, What::damaged);
  EXPECT_EQ(news.text, "a header that cannot be");
  EXPECT_EQ(arrive(header(0)).what, What::damaged) << "it speaks for the shards of another one";
  RoundHeader late = header(2);
  late.round = 4;
  EXPECT_EQ(arrive(late).what, What::damaged);
  EXPECT_EQ(arrive(header(2)).what, What::of_member) << "none of them counts";
  bytes = encoded(losses(2, 3));
  bytes[9] ^= std::byte{1};
  EXPECT_EQ(arrive(frame_with(MetricsBody{0, 0}), bytes).text, "metrics that cannot be");
  EXPECT_EQ(arrive(frame_with(MetricsBody{0, 4}), encoded(losses(2, 3))).what, What::damaged);
}

TEST_F(RoundReportsTest, PlaceNothingThatIsTooLarge) {
  const auto placed = [&](const Frame& frame, std::size_t bytes) {
    return !reports_.place(framed(frame, bytes)).empty();
  };
  const std::size_t header_max = encoded_header_bytes(2) + kCheckBytes;
  EXPECT_TRUE(placed(Frame{}, header_max));
  EXPECT_FALSE(placed(Frame{}, header_max + 1));
  const std::size_t metrics_max =
      2 * sizeof(ShardMetrics) + kAuditReportsMax * sizeof(AuditReport) + kCheckBytes;
  EXPECT_TRUE(placed(frame_with(MetricsBody{}), metrics_max));
  EXPECT_FALSE(placed(frame_with(MetricsBody{}), metrics_max + 1));
  EXPECT_TRUE(placed(frame_with(MetricsBody{2, 0}), 2 * sizeof(ShardMetrics) + kCheckBytes));
  EXPECT_FALSE(placed(frame_with(MetricsBody{2, 0}), 2 * sizeof(ShardMetrics) + kCheckBytes + 1));
  EXPECT_FALSE(placed(frame_with(MetricsBody{1, 0}), kCheckBytes)) << "of a node that nobody adds";
}

TEST_F(RoundReportsTest, OfABackupWorkerStandForThoseOfTheMember) {
  reports_.open(header(0), {});
  EXPECT_EQ(arrive(header(2)).what, What::of_member);
  const std::size_t node = nodes_.index_of(3);
  EXPECT_TRUE(reports_.needs_backup(node));
  reports_.add_backup(node, losses(2, 3));
  EXPECT_FALSE(reports_.needs_backup(node));
  EXPECT_TRUE(reports_.complete(1));
  EXPECT_FALSE(reports_.all_complete()) << "the own ones are missing";
  EXPECT_EQ(arrive(losses(0, 1), 2).what, What::of_backup_worker);
  EXPECT_TRUE(reports_.all_complete());
  std::vector<ShardMetrics> all;
  reports_.append_metrics(1, all);
  EXPECT_EQ(all, losses(2, 3));
}

TEST_F(RoundReportsTest, OfABackupWorkerAreNotAwaitedWhereAMemberHasNoSamples) {
  reports_.open(header(0), {});
  EXPECT_EQ(arrive(header(2, false)).what, What::of_member);
  EXPECT_FALSE(reports_.complete(1)) << "it reports itself";
}

TEST_F(RoundReportsTest, ThatDifferFromThoseOfABackupWorkerHaveDiverged) {
  reports_.open(header(0), {});
  reports_.add_backup(nodes_.index_of(3), losses(2, 3));
  const auto news = arrive(losses(2, 4));
  EXPECT_EQ(news.what, What::diverged);
  EXPECT_EQ(news.text,
            "diverged: the losses of shard 2, computed by replica 11 and by its backup worker, differ");
  EXPECT_EQ(arrive(losses(0, 1), 2).what, What::of_backup_worker);
  EXPECT_NE(reports_.contribute(losses(0, 2), {}), "");
}

TEST_F(RoundReportsTest, ThatAreNaNWithTheSameBitsHaveNotDiverged) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  reports_.add_backup(nodes_.index_of(3), losses(2, nan));
  EXPECT_EQ(arrive(losses(2, nan)).what, What::of_member);
}

TEST_F(RoundReportsTest, OfShardsThatAreNotBelowTheNodeAreDamaged) {
  EXPECT_EQ(arrive(losses(2, 3), 2).what, What::damaged);
}

TEST_F(RoundReportsTest, AreForgottenByTheNextRound) {
  reports_.open(header(0), {});
  arrive(header(2));
  reports_.contribute(losses(0, 1), {{1, 0, 42}});
  reports_.add_backup(nodes_.index_of(3), losses(2, 3));
  reports_.reset();
  EXPECT_FALSE(reports_.opened() || reports_.all_headers() || reports_.complete(0) || reports_.complete(1));
  EXPECT_TRUE(reports_.audits()[0].empty());
  EXPECT_TRUE(reports_.needs_backup(nodes_.index_of(3)));
}

TEST_F(RoundReportsTest, ThatComeLateKeepTheirMemory) {
  const Frame frame = framed(frame_with(MetricsBody{}), encoded(losses(2, 3)).size());
  const auto late = reports_.place(frame);
  reports_.reset();
  const auto next = reports_.place(frame);
  EXPECT_NE(late.data(), next.data());
  reports_.ended(1, frame, late.data());
  reports_.ended(1, frame, next.data());
  EXPECT_EQ(reports_.place(frame).data(), next.data());
}

class RoundReportsWithoutBackupWorkers : public RoundReportsTest {
 protected:
  RoundReportsWithoutBackupWorkers() : RoundReportsTest(false) {}
};

TEST_F(RoundReportsWithoutBackupWorkers, ComeFromTheMembersAlone) {
  reports_.open(header(0), {});
  EXPECT_EQ(arrive(header(2)).what, What::of_member);
  EXPECT_TRUE(reports_.place(framed(frame_with(MetricsBody{2, 0}), kCheckBytes)).empty());
  EXPECT_FALSE(reports_.complete(1));
}

}  // namespace
