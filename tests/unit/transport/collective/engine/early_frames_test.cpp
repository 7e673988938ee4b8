#include "transport/collective/engine/early_frames.hpp"

#include <gtest/gtest.h>

namespace {

using namespace muster;

Frame greeting(std::uint32_t view, std::uint32_t from, std::uint32_t bytes = 8) {
  Frame frame;
  frame.view = view;
  frame.from = from;
  frame.bytes = bytes;
  return frame;
}

// It comes whole, with this content.
void arrives(EarlyFrames& early, const Frame& frame, int content = 1) {
  const auto place = early.place(frame);
  ASSERT_EQ(place.bytes.size(), frame.bytes);
  std::fill(place.bytes.begin(), place.bytes.end(), static_cast<std::byte>(content));
  ASSERT_TRUE(early.arrived(place.bytes));
}

TEST(EarlyFrames, AreTakenInTheirOrderWhenTheirViewBegins) {
  EarlyFrames early;
  arrives(early, greeting(5, 1), 11);
  arrives(early, greeting(6, 2), 12);
  arrives(early, greeting(5, 3), 13);
  EXPECT_TRUE(early.take(4).empty());
  const auto due = early.take(5);
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(due[0].frame.from, 1u);
  EXPECT_EQ(due[1].frame.from, 3u);
  EXPECT_EQ(due[1].payload, std::vector<std::byte>(8, std::byte{13}));
  EXPECT_EQ(early.take(7).size(), 1u) << "also of a view that was left out";
  EXPECT_TRUE(early.empty());
}

TEST(EarlyFrames, WhatIsStillArrivingStaysWhereItIs) {
  EarlyFrames early;
  const auto half = early.place(greeting(5, 1));
  for (std::uint32_t from = 2; from < 40; ++from) arrives(early, greeting(5, from));
  EXPECT_EQ(early.take(5).size(), 38u);
  std::fill(half.bytes.begin(), half.bytes.end(), std::byte{9});
  EXPECT_TRUE(early.arrived(half.bytes));
  const auto late = early.take(5);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].payload.data(), half.bytes.data());
  EXPECT_EQ(late[0].payload, std::vector<std::byte>(8, std::byte{9}));
}

TEST(EarlyFrames, APayloadOfSomebodyElseIsNotTheirs) {
  EarlyFrames early;
  early.place(greeting(5, 1));
  std::vector<std::byte> other(8);
  EXPECT_FALSE(early.arrived(other));
  EXPECT_FALSE(early.arrived({}));
}

TEST(EarlyFrames, OnlyWhatIsArrivingCanBeDropped) {
  EarlyFrames early;
  arrives(early, greeting(5, 1));
  EXPECT_FALSE(early.dropped(greeting(5, 1))) << "it is whole";
  early.place(greeting(5, 2));
  EXPECT_FALSE(early.dropped(greeting(6, 2)));
  EXPECT_TRUE(early.dropped(greeting(5, 2)));
  EXPECT_FALSE(early.dropped(greeting(5, 2)));
  EXPECT_EQ(early.take(5).size(), 1u);
}

TEST(EarlyFrames, TheMemoryOfAnAbandonedOneIsNotUsedAgain) {
  EarlyFrames early;
  const auto place = early.place(greeting(5, 1));
  early.abandoned(greeting(5, 1));
  EXPECT_TRUE(early.dropped(greeting(5, 1)));
  EXPECT_TRUE(early.empty());
  std::fill(place.bytes.begin(), place.bytes.end(), std::byte{7});  // found by AddressSanitizer, were it free
}

TEST(EarlyFrames, RefuseBeyondTheirBytesAndSaySoOnceInAView) {
  EarlyFrames early;
  const std::uint32_t half = EarlyFrames::kBytesMax / 2;
  EXPECT_FALSE(early.place(greeting(5, 1, half)).bytes.empty());
  EXPECT_FALSE(early.place(greeting(5, 2, half)).bytes.empty());
  const auto first = early.place(greeting(5, 3));
  EXPECT_TRUE(first.bytes.empty());
  EXPECT_NE(first.wrong.find("more greetings of view 5"), std::string::npos) << first.wrong;
  EXPECT_TRUE(early.place(greeting(5, 4)).wrong.empty());
  EXPECT_FALSE(early.place(greeting(6, 4)).wrong.empty());
  EXPECT_TRUE(early.dropped(greeting(5, 1, half)));
  EXPECT_FALSE(early.place(greeting(5, 5)).bytes.empty()) << "there is room again";
}

TEST(EarlyFrames, WhatIsTakenMakesRoomForOthers) {
  EarlyFrames early;
  const std::uint32_t half = EarlyFrames::kBytesMax / 2;
  arrives(early, greeting(5, 1, half));
  arrives(early, greeting(5, 2, half));
  EXPECT_TRUE(early.place(greeting(6, 3)).bytes.empty());
  EXPECT_EQ(early.take(5).size(), 2u);
  EXPECT_EQ(early.place(greeting(6, 3, half)).bytes.size(), half);
  EXPECT_EQ(early.place(greeting(6, 4, half)).bytes.size(), half) << "of both";
}

TEST(EarlyFrames, RefuseBeyondTheirNumber) {
  EarlyFrames early;
  for (std::uint32_t from = 0; from < EarlyFrames::kFramesMax; ++from)
    ASSERT_FALSE(early.place(greeting(5, from, 1)).bytes.empty());
  EXPECT_TRUE(early.place(greeting(5, 0, 1)).bytes.empty());
}

}  // namespace
