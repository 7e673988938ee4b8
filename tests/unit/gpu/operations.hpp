// Everything that a device does to elements, each beside the plain loop that says what it is. The loops share
// no code with the product.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gpu/compute_device.hpp"
#include "muster/random.hpp"

namespace muster::test {

using Words = std::vector<std::uint32_t>;
using Floats = std::vector<float>;

/// The devices of this machine that the tests are for: the host, and the first GPU if there is one.
std::vector<std::string> devices_here();

/// What an operation is given: up to four arrays of one size, each so many elements behind an aligned place.
struct Operands {
  std::array<Floats, 4> values;
  std::array<std::size_t, 4> beyond{};

  std::size_t count() const { return values[0].size(); }
};

struct Operation {
  std::string name;
  std::function<Words(const std::shared_ptr<ComputeDevice>&, const Operands&)> on_device;
  std::function<Words(const Operands&)> expected;
};

const std::vector<Operation>& operations();

/// A NaN of arithmetic is a NaN; which one is the processor's choice.
inline std::uint32_t word(float value) {
  return std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value);
}

/// Numbers of all sizes, some zeros of both signs, some denormal; with `strange` also infinities, NaNs and
/// the largest ones.
inline Floats some_numbers(std::uint64_t seed, std::size_t count, bool strange) {
  const float kInfinity = std::numeric_limits<float>::infinity();
  const std::array<float, 10> kRare{0.0F,
                                    -0.0F,
                                    1e-40F,
                                    -3e-45F,
                                    std::numeric_limits<float>::min(),
                                    kInfinity,
                                    -kInfinity,
                                    std::numeric_limits<float>::quiet_NaN(),
                                    std::numeric_limits<float>::max(),
                                    -std::numeric_limits<float>::max()};
  SplitMix64 random(seed);
  Floats values(count);
  for (float& value : values) {
    const std::uint64_t choice = random.next();
    if (choice % 8 == 0) {
      value = kRare[choice / 8 % (strange ? 10 : 5)];
    } else {
      value = std::ldexp(random.next_signed_unit(), static_cast<int>(choice / 8 % 41) - 30);
    }
  }
  return values;
}

inline Operands some_operands(std::uint64_t seed, std::size_t count, std::array<std::size_t, 4> beyond,
                              bool strange) {
  Operands operands;
  operands.beyond = beyond;
  for (std::size_t i = 0; i < 4; ++i) operands.values[i] = some_numbers(seed * 4 + i, count, strange);
  // Running averages of squares are not negative.
  for (float& value : operands.values[3]) value = std::abs(value);
  return operands;
}

}  // namespace muster::test
