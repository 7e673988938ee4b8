#include "transport/collective/reduction/result_hash.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace {

using muster::ResultHash;

TEST(ResultHash, DependsOnTheHashBeforeAndOnTheBitsOfTheResult) {
  ResultHash hash(nullptr);
  std::vector<float> result(5000, 1.0f);
  const std::uint64_t before = hash.of(result, 1);
  EXPECT_EQ(hash.of(result, 1), before);
  EXPECT_NE(hash.of(result, 2), before);
  result[1024] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(1.0f) + 1);
  EXPECT_NE(hash.of(result, 1), before);
}

TEST(ResultHash, ReadsPairsThatLieFarApart) {
  ResultHash hash(nullptr);
  std::vector<float> result(5000, 1.0f);
  const std::uint64_t before = hash.of(result, 1);
  result[2] = 7;
  EXPECT_EQ(hash.of(result, 1), before) << "between two pairs";
}

TEST(ResultHash, OfNothingIsTheHashBefore) {
  EXPECT_EQ(ResultHash(nullptr).of({}, 42), 42u);
}

}  // namespace
