#include "actors/replica/states/part_gathering.hpp"

#include <gtest/gtest.h>

#include "actors/checkpoint/snapshot.hpp"
#include "muster/error.hpp"

namespace muster {
namespace {

constexpr std::uint32_t kWriter = 0;

// One vector of six elements; replica 1 holds the third and fourth, replica 2 the last two.
GatheredParts parts() {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->slots.push_back({"momentum", std::vector<float>(6, 1)});
  const std::vector<PartMove> moves{{1, kWriter, {2, 4}}, {2, kWriter, {4, 6}}};
  return {snapshot, {0, 1, 6}, moves, kWriter};
}

PartGathering::Payload part(std::size_t begin, float value) {
  const std::vector<float> values(2, value);
  return std::make_shared<const std::vector<std::byte>>(
      encode_given({begin, begin + 2}, {std::span<const float>(values)}));
}

Written written() {
  Written written;
  written.step = 17;
  return written;
}

TEST(PartGathering, IsWholeWhenAllPartsAreThere) {
  PartGathering gathering;
  gathering.enter(2);
  EXPECT_FALSE(gathering.under_way());
  gathering.begin(5, parts(), written());
  EXPECT_TRUE(gathering.under_way());
  EXPECT_TRUE(gathering.take(5, part(2, 3)));
  EXPECT_FALSE(gathering.whole());
  EXPECT_TRUE(gathering.take(5, part(4, 4)));
  const auto whole = gathering.whole();
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->written.step, 17u);
  EXPECT_EQ(whole->snapshot->slots[0].values, (std::vector<float>{1, 1, 3, 3, 4, 4}));
  EXPECT_FALSE(gathering.under_way());
  EXPECT_FALSE(gathering.whole());
}

TEST(PartGathering, PartsMayArriveBeforeTheOwnSnapshot) {
  PartGathering gathering;
  gathering.enter(2);
  EXPECT_TRUE(gathering.take(5, part(2, 3)));
  EXPECT_TRUE(gathering.take(5, part(2, 3))) << "it has come twice";
  EXPECT_TRUE(gathering.take(5, part(4, 4)));
  EXPECT_FALSE(gathering.take(5, part(0, 4))) << "there are but two";
  gathering.begin(5, parts(), written());
  gathering.take_early(5);
  EXPECT_TRUE(gathering.whole());
}

TEST(PartGathering, PartsOfAnotherCheckpointStayApart) {
  PartGathering gathering;
  gathering.enter(2);
  gathering.ignore_until(5);
  EXPECT_TRUE(gathering.take(5, part(2, 9))) << "ignored: nobody gathers it any more";
  EXPECT_TRUE(gathering.take(6, part(2, 3)));
  gathering.begin(6, parts(), written());
  gathering.take_early(6);
  EXPECT_TRUE(gathering.take(7, part(4, 8)));
  EXPECT_FALSE(gathering.whole());
  EXPECT_TRUE(gathering.take(6, part(4, 4)));
  const auto whole = gathering.whole();
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->snapshot->slots[0].values, (std::vector<float>{1, 1, 3, 3, 4, 4}));
}

TEST(PartGathering, WhatNobodyWaitsForIsAnError) {
  PartGathering gathering;
  gathering.enter(2);
  gathering.begin(5, parts(), written());
  EXPECT_THROW((void)gathering.take(5, part(0, 3)), Error);
}

TEST(PartGathering, IsGivenUpWithWhatWasToBeWritten) {
  PartGathering gathering;
  gathering.enter(2);
  EXPECT_FALSE(gathering.give_up());
  EXPECT_TRUE(gathering.take(5, part(2, 3)));
  gathering.begin(5, parts(), written());
  EXPECT_EQ(gathering.give_up()->step, 17u);
  EXPECT_FALSE(gathering.under_way());
  gathering.enter(2);
  gathering.begin(5, parts(), written());
  gathering.take_early(5);
  EXPECT_TRUE(gathering.take(5, part(4, 4)));
  EXPECT_FALSE(gathering.whole()) << "the early part was of the view before";
}

}  // namespace
}  // namespace muster
