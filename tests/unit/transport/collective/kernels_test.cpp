// The vectorized arithmetic has the bits of the plain loops, on every kind of processor that this one can
// play.
#include "transport/collective/sums/kernels.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/processors.hpp"

namespace {

using namespace muster;

// Numbers of all sizes: denormal, zero of both signs, infinite.
std::vector<float> numbers(std::uint32_t seed, std::size_t count) {
  std::mt19937 random(seed);
  std::vector<float> made(count);
  for (float& value : made) {
    do value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    while (std::isnan(value));
  }
  if (count > 2) made[1] = -0.0f;
  if (count > 2) made[2] = 0.0f;
  return made;
}

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

class Kernels : public muster::testing::OnEveryProcessor {};

TEST_P(Kernels, HaveTheBitsOfThePlainLoops) {
  for (const std::size_t count : {0u, 1u, 3u, 16u, 63u, 64u, 65u, 1000u}) {
    for (const std::size_t shift : {0u, 1u, 5u}) {
      const auto left = numbers(1, count + shift), right = numbers(2, count + shift);
      const float* a = left.data() + shift;
      const float* b = right.data() + shift;
      std::vector<float> out(count + 1, 42.0f);
      kernels::add(a, b, count, out.data());
      for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(same(out[i], a[i] + b[i])) << i;
      for (const float by : {0.5f, 3.0f, 1e-30f, 7e37f}) {
        kernels::scale(a, count, {by, false}, out.data());
        for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(same(out[i], a[i] * by)) << i;
        kernels::scale(a, count, {by, true}, out.data());
        for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(same(out[i], a[i] / by)) << i;
        kernels::add_and_scale(a, b, count, {by, false}, out.data());
        for (std::size_t i = 0; i < count; ++i) {
          const volatile float sum = a[i] + b[i];  // rounded before it is scaled
          EXPECT_TRUE(same(out[i], sum * by)) << i;
        }
        kernels::add_and_scale(a, b, count, {by, true}, out.data());
        for (std::size_t i = 0; i < count; ++i) {
          const volatile float sum = a[i] + b[i];
          EXPECT_TRUE(same(out[i], sum / by)) << i;
        }
      }
      EXPECT_EQ(out[count], 42.0f) << "written beyond the end";
    }
  }
}

TEST_P(Kernels, AddFourAsAddsByThemselvesWould) {
  for (const std::size_t count : {0u, 1u, 17u, 64u, 777u}) {
    std::array<std::vector<float>, 4> values;
    std::array<const float*, 4> v{};
    for (std::uint32_t k = 0; k < 4; ++k) {
      values[k] = numbers(10 + k, count + k);
      v[k] = values[k].data() + k;
    }
    for (const float by : {1.0f, 0.5f, 3.0f, 1e-30f}) {
      for (const bool divides : {false, true}) {
        std::vector<float> out(count + 1, 42.0f);
        kernels::add_four_and_scale(v, count, {by, divides}, out.data());
        for (std::size_t i = 0; i < count; ++i) {
          const volatile float left = v[0][i] + v[1][i], right = v[2][i] + v[3][i];
          const volatile float sum = left + right;
          EXPECT_TRUE(same(out[i], divides ? sum / by : sum * by)) << i;
        }
        EXPECT_EQ(out[count], 42.0f) << "written beyond the end";
      }
    }
  }
}

// Past the caches, where the place allows it: from the first element on, and in an odd place.
TEST_P(Kernels, WriteTheSamePastTheCaches) {
  for (const std::size_t count : {1u, 16u, 65u, 1000u}) {
    std::array<std::vector<float>, 4> values;
    for (std::uint32_t k = 0; k < 4; ++k) values[k] = numbers(20 + k, count);
    const std::array<const float*, 4> v{values[0].data(), values[1].data(), values[2].data(),
                                        values[3].data()};
    alignas(64) std::array<float, 1024> cached, streamed;
    for (const std::size_t shift : {0u, 3u}) {
      for (const bool divides : {false, true}) {
        const kernels::Scale by{3.0f, divides};
        const auto both = [&](const auto& write) {
          cached.fill(42.0f);
          streamed.fill(42.0f);
          write(cached.data() + shift, kernels::Store::cached);
          write(streamed.data() + shift, kernels::Store::streamed);
          for (std::size_t i = 0; i < cached.size(); ++i) EXPECT_TRUE(same(cached[i], streamed[i])) << i;
        };
        both([&](float* out, kernels::Store store) { kernels::scale(v[0], count, by, out, store); });
        both([&](float* out, kernels::Store store) {
          kernels::add_and_scale(v[0], v[1], count, by, out, store);
        });
        both(
            [&](float* out, kernels::Store store) { kernels::add_four_and_scale(v, count, by, out, store); });
      }
    }
  }
}

TEST_P(Kernels, MayWriteOverAnOperand) {
  auto left = numbers(3, 777);
  const auto before = left, right = numbers(4, 777);
  kernels::add(left.data(), right.data(), left.size(), left.data());
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_TRUE(same(left[i], before[i] + right[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Targets, Kernels, ::testing::ValuesIn(Kernels::all()), &Kernels::name);

TEST(KernelsChoice, HasAName) {
  EXPECT_STRNE(kernels::chosen(), "");
}

}  // namespace
