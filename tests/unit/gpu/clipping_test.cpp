// A gradient's norm is bounded with the same bits on all devices that are there, those of plain loops.
#include "gpu/optimizer/clipping.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/norm_oracle.hpp"
#include "tests/unit/gpu/operations.hpp"

namespace muster::test {
namespace {

constexpr std::size_t kCount = 20011;

class ClippingOn : public ::testing::TestWithParam<std::string> {
 protected:
  const std::shared_ptr<ComputeDevice> device_ = make_compute_device(GetParam());
  const DeviceFloats gradient_{device_, kCount}, clipped_{device_, kCount};

  void measure(Clipping& clipping, const Floats& gradient) {
    device_->copy_in(std::span<const float>(gradient), gradient_.span());
    clipping.measure(gradient_.span());
    device_->synchronize();
  }
  Floats clipped(const Clipping& clipping) {
    for (const std::size_t begin : {std::size_t{0}, std::size_t{5003}}) {  // in two parts, one not aligned
      const std::size_t count = begin == 0 ? 5003 : kCount - 5003;
      clipping.clip(gradient_.span().subspan(begin, count), clipped_.span().subspan(begin, count));
    }
    Floats host(kCount);
    device_->copy_out<float>(clipped_.span(), std::span(host));
    device_->synchronize();
    return host;
  }
};

TEST_P(ClippingOn, IsThatOfPlainLoops) {
  for (const double bound : {0.5, 40.0, 1e9}) {
    Clipping clipping(device_, kCount, bound);
    for (const std::uint64_t seed : {1, 2}) {  // the same memory is measured again
      Floats gradient = some_numbers(seed, kCount, false);
      measure(clipping, gradient);
      const double norm = std::sqrt(oracle::squared_norm(gradient));
      EXPECT_EQ(clipping.norm(), norm);
      EXPECT_EQ(clipping.clips(), norm > bound);
      oracle::clip(gradient, bound);
      EXPECT_EQ(clipped(clipping), gradient);
      if (norm > bound) {
        EXPECT_NEAR(std::sqrt(oracle::squared_norm(gradient)), bound, 1e-5 * bound);
      }
    }
  }
}

TEST_P(ClippingOn, WhatHasNoNormIsClipped) {
  Clipping clipping(device_, kCount, 1.0);
  Floats gradient(kCount, 0.0F);
  measure(clipping, gradient);
  EXPECT_EQ(clipping.norm(), 0);
  EXPECT_FALSE(clipping.clips());
  gradient[7] = std::numeric_limits<float>::quiet_NaN();
  measure(clipping, gradient);
  EXPECT_TRUE(std::isnan(clipping.norm()));
  EXPECT_TRUE(clipping.clips());
}

TEST_P(ClippingOn, TakesTheMemoryThatItSays) {
  const std::size_t before = device_->memory().taken_bytes;
  const Clipping clipping(device_, kCount, 1.0);
  const std::size_t taken = device_->memory().taken_bytes - before;
  EXPECT_GE(taken, Clipping::bytes(kCount));
  EXPECT_LE(taken, Clipping::bytes(kCount) + 2 * 256);  // arrays begin at multiples of it
}

INSTANTIATE_TEST_SUITE_P(All, ClippingOn, ::testing::ValuesIn(devices_here()),
                         [](const auto& each) { return each.param.substr(0, each.param.find(':')); });

}  // namespace
}  // namespace muster::test
