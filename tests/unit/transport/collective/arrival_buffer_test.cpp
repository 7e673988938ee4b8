// What still arrives when its round is over, and what the next round puts beside it.
#include "transport/collective/reduction/arrival_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace muster {
namespace {

void fill(std::span<std::byte> place, int value) {
  std::fill(place.begin(), place.end(), std::byte(value));
}

bool holds(std::span<const std::byte> place, int value) {
  return std::ranges::all_of(place, [value](std::byte each) { return each == std::byte(value); });
}

TEST(ArrivalBuffer, WhatStillArrivesKeepsItsMemory) {
  ArrivalBuffer buffer;
  const auto late = buffer.place(96);
  const auto next = buffer.place(4096);
  fill(next, 2);
  fill(late, 1);
  EXPECT_TRUE(holds(next, 2));
  EXPECT_TRUE(holds(late, 1));
  buffer.ended(late.data());
  EXPECT_EQ(buffer.place(64).size(), 64u) << "the second one has not come either";
  EXPECT_TRUE(holds(next, 2));
}

TEST(ArrivalBuffer, RoundsThatEndInTimeUseTheSameMemory) {
  ArrivalBuffer buffer;
  const auto first = buffer.place(96);
  buffer.ended(first.data());
  EXPECT_EQ(buffer.place(96).data(), first.data());
}

TEST(ArrivalBuffer, NothingArrivesWhereNothingIsSent) {
  ArrivalBuffer buffer;
  const auto first = buffer.place(96);
  buffer.ended(first.data());
  EXPECT_TRUE(buffer.place(0).empty());
  EXPECT_EQ(buffer.place(96).data(), first.data());
}

}  // namespace
}  // namespace muster
