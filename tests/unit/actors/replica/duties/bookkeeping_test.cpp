#include "actors/replica/duties/bookkeeping.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::bookkeeping_test {
namespace {

using testing::DutyContext;
using testing::last_as;

Job job_of_one_step_an_epoch() {
  Job job;
  job.train.shards = 6;
  job.train.batch = 2;
  job.train.epochs = 3;
  return job;
}

RoundRecord step_of(std::vector<ShardReport> shards) {
  RoundRecord record;
  record.epoch = 1;
  record.step = 1;
  record.weight = 1;
  record.shards = std::move(shards);
  ShardMetrics metrics;
  metrics.loss = 6;
  metrics.weight = 4;
  record.metrics = {metrics};
  return record;
}

ShardReport present(std::uint32_t shard) {
  ShardReport report;
  report.shard = shard;
  report.rows = 2;
  report.count = 2;
  return report;
}

ShardReport absent(std::uint32_t shard, std::uint32_t why) {
  ShardReport report;
  report.shard = shard;
  report.ended = why;
  return report;
}

struct Counting : DutyContext {
  StepTimes times;
  StateReplacement replacement;
  Bookkeeping books{context, times, replacement};

  Counting() : DutyContext(job_of_one_step_an_epoch()) {
    books.start(context.job(), context.setup.facts, 1);
    context.position = &books.position();
  }
  template <class Message>
  std::size_t count() const {
    return static_cast<std::size_t>(std::count_if(sent.node.begin(), sent.node.end(), [](const auto& each) {
      return std::holds_alternative<Message>(each);
    }));
  }
};

TEST(Bookkeeping, AStepIsCountedAndItsProgressReported) {
  Counting replica;
  replica.sent.now = std::chrono::seconds(100);
  const RoundRecord record = step_of({present(2), present(3)});
  replica.books.take(record);
  EXPECT_EQ(replica.books.position().records(), 1u);
  ASSERT_TRUE(replica.books.count(record));
  replica.books.step_applied(record, 0.5, 5);
  const auto* progress = last_as<Progress>(replica.sent.node);
  ASSERT_TRUE(progress);
  EXPECT_EQ(progress->samples, 4u);
  EXPECT_EQ(progress->loss, 1.5);
  EXPECT_EQ(progress->gradient_norm, 0.5);
  EXPECT_EQ(replica.books.position().schedule().steps(), 1u);
}

TEST(Bookkeeping, SamplesThatTheShardDoesNotHaveAreTrouble) {
  Counting replica;
  ShardReport beyond = present(2);
  beyond.first = 1000;
  EXPECT_FALSE(replica.books.count(step_of({beyond})));
  EXPECT_TRUE(last_as<Trouble>(replica.sent.node));
}

TEST(Bookkeeping, AHolderSaysWhichOfItsShardsWereLeftOut) {
  Counting replica;
  const auto out = ShardReport::kLeftOut;
  ASSERT_TRUE(replica.books.count(step_of({present(0), absent(3, out), absent(4, out)})));
  const auto* raised = last_as<Raised>(replica.sent.node);
  ASSERT_TRUE(raised);
  EXPECT_EQ(raised->event.name, "dropped");
  EXPECT_EQ(raised->event.text("shards"), "3-3") << "4 is another replica's";
}

TEST(Bookkeeping, TheEndOfAnEpochIsReportedUnlessTheStateIsToBeReplaced) {
  for (const bool replaced : {false, true}) {
    Counting replica;
    replica.replacement.enter(replaced);
    RoundRecord last = step_of({absent(2, 1), absent(3, 1)});
    last.weight = 0;
    last.metrics.clear();
    ASSERT_TRUE(replica.books.count(last));
    replica.books.weightless(last);
    EXPECT_EQ(replica.count<EpochEnd>(), replaced ? 0u : 1u);
    replica.books.report_told();
    const auto* again = last_as<EpochEnd>(replica.sent.node);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->view, 5u);
  }
}

TEST(Bookkeeping, OnlyTheFirstReplicaSpeaksForAll) {
  for (const bool first : {false, true}) {
    Counting replica;
    if (first) replica.view().replicas.erase(replica.view().replicas.begin());
    ASSERT_TRUE(replica.books.count(step_of({absent(2, 1), present(3)})));
    EXPECT_EQ(replica.count<Raised>(), first ? 1u : 0u);
  }
}

}  // namespace
}  // namespace muster::bookkeeping_test
