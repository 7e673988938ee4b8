// Host tensors and batches: what a data source fills and a model reads. Values, no views; row-major.
//
//   #include "muster/tensors.hpp"
//
//   muster::Batch two_rows_of_three_ones() {
//     muster::Tensor inputs{muster::DType::float32, {2, 3}, std::vector<std::byte>(6 * sizeof(float))};
//     for (float& value : inputs.as<float>()) value = 1;
//     muster::Batch batch;
//     batch.rows = 2;
//     batch.tensors.push_back(inputs);
//     return batch;
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace muster {

/// Type of an element.
enum class DType : std::uint8_t { float32 = 0, int64 = 1, uint8 = 2 };

/// Bytes of one element.
constexpr std::size_t size_of(DType type) {
  return type == DType::float32 ? 4 : type == DType::int64 ? 8 : 1;
}

/// One field of a sample: its element type and its shape without the batch dimension. A scalar has an empty
/// shape.
struct Field {
  DType dtype = DType::float32;     ///< of each element
  std::vector<std::int64_t> shape;  ///< without the batch dimension

  /// Elements of one sample.
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
  }
  /// Bytes of one sample.
  std::size_t bytes() const { return count() * size_of(dtype); }
  bool operator==(const Field&) const = default;
};

/// One field of a batch: shape[0] is the number of rows. Owns its bytes.
struct Tensor {
  DType dtype = DType::float32;     ///< of each element
  std::vector<std::int64_t> shape;  ///< rows first
  std::vector<std::byte> bytes;     ///< all elements, row-major, in the machine's byte order

  /// The elements as values of type T, which must be that of `dtype`. Valid until `bytes` changes.
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// The same, to be changed in place.
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

/// A micro-batch. The first `rows` rows are samples; `padding` more rows follow, weigh 0 and must not touch
/// the gradient.
struct Batch {
  std::uint32_t rows = 0;       ///< samples
  std::uint32_t padding = 0;    ///< rows behind these that weigh 0
  std::vector<Tensor> tensors;  ///< one for each field of the source, each with rows + padding rows

  /// Bytes of all tensors.
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& tensor : tensors) sum += tensor.bytes.size();
    return sum;
  }
};

}  // namespace muster
