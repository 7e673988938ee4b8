// Batches of made-up numbers for the tests of this room.
#pragma once

#include "muster/random.hpp"
#include "muster/tensors.hpp"

namespace muster::testing_support {

inline Tensor random_floats(std::vector<std::int64_t> shape, std::uint64_t seed) {
  Tensor tensor{DType::float32, shape, std::vector<std::byte>(Field{DType::float32, shape}.bytes())};
  SplitMix64 random(seed);
  for (auto& value : tensor.as<float>()) value = random.next_signed_unit();
  return tensor;
}

inline Tensor random_labels(std::uint32_t rows, std::uint64_t classes, std::uint64_t seed) {
  Tensor tensor{DType::int64, {rows}, std::vector<std::byte>(rows * sizeof(std::int64_t))};
  SplitMix64 random(seed);
  for (auto& value : tensor.as<std::int64_t>()) value = static_cast<std::int64_t>(random.next() % classes);
  return tensor;
}

/// `shape` is that of one sample. The first rows of two batches with one seed are equal.
inline Batch classified(std::uint32_t rows, std::vector<std::int64_t> shape, std::uint64_t classes,
                        std::uint64_t seed, std::uint32_t padding = 0) {
  shape.insert(shape.begin(), rows + padding);
  return Batch{rows, padding, {random_floats(shape, seed), random_labels(rows + padding, classes, seed + 1)}};
}

}  // namespace muster::testing_support
