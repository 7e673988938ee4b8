#include "transport/collective/engine/whole_messages.hpp"

#include <gtest/gtest.h>

namespace {

using namespace muster;

Frame message(FrameKind kind, std::uint32_t from, std::uint32_t bytes = 8) {
  Frame frame;
  frame.kind = kind;
  frame.from = from;
  frame.bytes = bytes;
  return frame;
}

TEST(WholeMessages, EachHasABufferOfItsOwnAndIsTakenOnce) {
  WholeMessages whole;
  const auto one = whole.place(message(FrameKind::batch, 1)),
             other = whole.place(message(FrameKind::part, 2));
  ASSERT_EQ(one.size(), 8u);
  EXPECT_NE(one.data(), other.data());
  std::fill(one.begin(), one.end(), std::byte{3});
  const auto taken = whole.take(one);
  ASSERT_TRUE(taken);
  EXPECT_EQ(*taken, std::vector<std::byte>(8, std::byte{3}));
  EXPECT_EQ(taken->data(), one.data()) << "nothing is copied";
  EXPECT_FALSE(whole.take(one));
  EXPECT_TRUE(whole.take(other));
}

TEST(WholeMessages, WhatWasNotPlacedHereIsNotTaken) {
  WholeMessages whole;
  whole.place(message(FrameKind::batch, 1));
  const std::vector<std::byte> other(8);
  EXPECT_FALSE(whole.take(other));
  EXPECT_FALSE(whole.take({}));
}

TEST(WholeMessages, ADroppedOneDoesNotArriveAnyMore) {
  WholeMessages whole;
  whole.place(message(FrameKind::batch, 1));
  EXPECT_TRUE(whole.batch_arrives_from(1));
  whole.dropped(message(FrameKind::batch, 2));
  EXPECT_TRUE(whole.batch_arrives_from(1)) << "another one was dropped";
  whole.dropped(message(FrameKind::batch, 1));
  EXPECT_FALSE(whole.batch_arrives_from(1));
}

TEST(WholeMessages, OnlyMicroBatchesOfThisPeerCountAsArriving) {
  WholeMessages whole;
  whole.place(message(FrameKind::gathered, 1));
  whole.place(message(FrameKind::batch, 2));
  EXPECT_FALSE(whole.batch_arrives_from(1));
  EXPECT_TRUE(whole.batch_arrives_from(2));
}

TEST(WholeMessages, TheMemoryOfAnAbandonedOneIsNotUsedAgain) {
  WholeMessages whole;
  const auto place = whole.place(message(FrameKind::batch, 1));
  whole.abandoned(message(FrameKind::batch, 1));
  whole.dropped(message(FrameKind::batch, 1));
  EXPECT_FALSE(whole.batch_arrives_from(1));
  std::fill(place.begin(), place.end(), std::byte{7});  // found by AddressSanitizer, were it free
}

}  // namespace
