#include <gtest/gtest.h>

#include "actors/rules/steps/step_events.hpp"

namespace muster {
namespace {

// Rows of each shard; -1: ended.
RoundRecord record_of(const std::vector<int>& rows, std::uint64_t step = 4, std::uint64_t epoch = 2) {
  RoundRecord record;
  record.epoch = epoch;
  record.step = step;
  for (std::size_t s = 0; s < rows.size(); ++s) {
    ShardReport report;
    report.shard = static_cast<std::uint32_t>(s);
    report.ended = rows[s] < 0 ? 1 : 0;
    report.rows = rows[s] < 0 ? 0 : static_cast<std::uint32_t>(rows[s]);
    record.shards.push_back(report);
  }
  return record;
}

std::vector<std::string> told(const std::vector<Event>& events) {
  std::vector<std::string> texts;
  for (const Event& event : events) {
    EXPECT_EQ(event.text("scope"), "shard");
    EXPECT_EQ(event.integer("epoch"), 2);
    EXPECT_EQ(event.integer("step"), 4);
    texts.push_back(event.name + " " + std::to_string(event.integer("shard")));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(StepEvents, NothingIsToldWhereAllAreAlike) {
  StepEvents events(8);
  events.begin_epoch();
  EXPECT_EQ(told(events.of(record_of({8, 8, 8}))), Texts{});
  EXPECT_EQ(told(events.of(record_of({5, 5, 4}))), Texts{}) << "every shard is short";
}

TEST(StepEvents, ShortShardsAmongFullOnes) {
  StepEvents events(8);
  events.begin_epoch();
  const auto found = events.of(record_of({8, 5, 8, 1}));
  EXPECT_EQ(told(found), (Texts{"short 1", "short 3"}));
  EXPECT_EQ(found[0].integer("rows"), 5);
  EXPECT_EQ(found[0].integer("full"), 8);
}

TEST(StepEvents, EndIsToldOncePerEpoch) {
  StepEvents events(8);
  events.begin_epoch();
  EXPECT_EQ(told(events.of(record_of({8, -1}))), Texts{"exhausted 1"});
  EXPECT_EQ(told(events.of(record_of({8, -1}))), Texts{});
  events.begin_epoch();
  EXPECT_EQ(told(events.of(record_of({8, -1}))), Texts{"exhausted 1"});
}

TEST(StepEvents, ShortBesideAnEndedShard) {
  StepEvents events(8);
  events.begin_epoch();
  EXPECT_EQ(told(events.of(record_of({3, -1}))), (Texts{"short 0", "exhausted 1"}));
}

TEST(StepEvents, HoleIsNeitherShortNorEnded) {
  StepEvents events(8);
  events.begin_epoch();
  EXPECT_EQ(told(events.of(record_of({8, 0}))), Texts{});
}

TEST(StepEvents, ReadyMadeBatchesAreComparedWithTheLongestOfTheEpoch) {
  StepEvents events(0);
  events.begin_epoch();
  EXPECT_EQ(told(events.of(record_of({5, 5}))), Texts{});
  EXPECT_EQ(told(events.of(record_of({9, 5}))), Texts{"short 1"});
  EXPECT_EQ(told(events.of(record_of({9, 3}))), Texts{"short 1"});
  events.begin_epoch();
  EXPECT_EQ(told(events.of(record_of({5, 5}))), Texts{});
}

}  // namespace
}  // namespace muster
