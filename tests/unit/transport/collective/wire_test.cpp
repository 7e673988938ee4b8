// 16 bits on the wire: rounding by the definition of the formats, and nothing lost by what is sent.
#include "transport/collective/sums/wire.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/processors.hpp"
#include "tests/support/tree_oracle.hpp"
#include "tests/support/wire_numbers.hpp"

namespace {

using namespace muster;

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

const Wire kWires[] = {{WireType::float16, 0},  {WireType::float16, 10},  {WireType::float16, -13},
                       {WireType::float16, 60}, {WireType::float16, -60}, {WireType::bfloat16, 0}};

// Any bits, and such as lie at the ends of what the formats hold, or half way between two numbers.
std::vector<float> numbers(std::size_t count) {
  std::mt19937 random(5);
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto any = static_cast<std::uint32_t>(random());
    if (i % 4 == 1) any = (any & 0x8fffffffu) | 0x38000000u | (any & 0x07ffffffu);  // around 1
    if (i % 4 == 2) any &= 0xfffff000u;                                             // ties of float16
    if (i % 4 == 3) any &= 0xffff8000u;                                             // ties of bfloat16
    made[i] = std::bit_cast<float>(any);
    if (std::isnan(made[i])) made[i] = std::ldexp(static_cast<float>(random() % 4096), -26);
  }
  return made;
}

class WireKernels : public muster::testing::OnEveryProcessor {};

TEST_P(WireKernels, RoundToTheNearestNumberOfTheFormat) {
  const auto values = numbers(40'003);
  for (const Wire& wire : kWires) {
    auto rounded = values;
    round_to(wire, rounded.size(), rounded.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(bits(rounded[i]), bits(oracle::rounded(values[i], oracle::numbers_of(wire))))
          << values[i] << " with exponent " << wire.exponent;
    }
  }
}

TEST_P(WireKernels, LoseNothingOfWhatIsRounded) {
  for (const std::size_t count : {0u, 1u, 7u, 16u, 33u, 1000u}) {
    auto values = numbers(count);
    for (const Wire& wire : kWires) {
      round_to(wire, count, values.data());
      auto there = values;
      // Within the same memory, as on the way.
      pack(wire, there.data(), count, reinterpret_cast<std::uint16_t*>(there.data()));
      unpack(wire, reinterpret_cast<const std::uint16_t*>(there.data()), count, there.data());
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(bits(there[i]), bits(values[i])) << i;
    }
  }
}

TEST_P(WireKernels, KeepEveryNumberOfTheFormat) {
  std::vector<std::uint16_t> all(65536), back(65536);
  std::vector<float> values(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const Wire& wire : kWires) {
    unpack(wire, all.data(), all.size(), values.data());
    auto rounded = values;
    round_to(wire, rounded.size(), rounded.data());
    pack(wire, rounded.data(), rounded.size(), back.data());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(values[i])) {
        EXPECT_TRUE(std::isnan(rounded[i])) << i;
      } else {
        ASSERT_EQ(bits(rounded[i]), bits(values[i])) << i;
        ASSERT_EQ(back[i], all[i]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, WireKernels, ::testing::ValuesIn(WireKernels::all()), &WireKernels::name);

TEST(Wire, SmallAndLargeNumbersOfFloat16) {
  float values[] = {65519.0F, 65520.0F, 0x1p-24F, 0x1p-25F, -0.0F, 1.0F / 3};
  round_to({WireType::float16, 0}, 6, values);
  EXPECT_EQ(values[0], 65504.0F);
  EXPECT_TRUE(std::isinf(values[1]));
  EXPECT_EQ(values[2], 0x1p-24F);
  EXPECT_EQ(values[3], 0.0F);  // a tie: the even one
  EXPECT_TRUE(std::signbit(values[4]));
  EXPECT_EQ(values[5], 0.333251953125F);
}

}  // namespace
