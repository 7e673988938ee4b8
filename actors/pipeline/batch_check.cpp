#include "actors/pipeline/batch_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace muster {

bool tensor_bytes(DType dtype, const std::vector<std::int64_t>& shape, std::uint64_t& bytes) {
  std::int64_t product = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return false;
  }
  bytes = static_cast<std::uint64_t>(product);
  return true;
}

std::string batch_mistake(const Batch& batch) {
  const std::int64_t rows = std::int64_t{batch.rows} + batch.padding;
  if (batch.rows == 0) return "it has no rows";
  if (rows > std::numeric_limits<std::uint32_t>::max()) return "it has 2^32 rows or more";
  if (batch.tensors.empty() || batch.tensors.size() > kTensorsMax) {
    return "it has " + std::to_string(batch.tensors.size()) + " tensors; allowed are 1 to " +
           std::to_string(kTensorsMax);
  }
  for (std::size_t k = 0; k < batch.tensors.size(); ++k) {
    const auto& tensor = batch.tensors[k];
    const std::string name = "its tensor " + std::to_string(k);
    if (tensor.shape.empty() || tensor.shape.size() > kRankMax) {
      return name + " has " + std::to_string(tensor.shape.size()) + " dimensions; allowed are 1 to " +
             std::to_string(kRankMax);
    }
    if (tensor.shape[0] != rows) {
      return name + " has " + std::to_string(tensor.shape[0]) + " rows, the batch has " +
             std::to_string(rows);
    }
    std::uint64_t bytes = 0;
    if (!tensor_bytes(tensor.dtype, tensor.shape, bytes)) return name + " has an impossible shape";
    if (bytes != tensor.bytes.size()) {
      return name + " has " + std::to_string(tensor.bytes.size()) + " bytes, its shape needs " +
             std::to_string(bytes);
    }
  }
  return {};
}

std::optional<NotFinitePlace> find_not_finite(const Batch& batch) {
  std::optional<NotFinitePlace> first;
  for (std::size_t k = 0; k < batch.tensors.size(); ++k) {
    const Tensor& tensor = batch.tensors[k];
    if (tensor.dtype != DType::float32 || batch.rows == 0) continue;
    const auto values = tensor.as<float>();
    const std::size_t row = values.size() / (std::size_t{batch.rows} + batch.padding);
    const auto samples = values.first(row * batch.rows);
    const auto bad = std::ranges::find_if(samples, [](float value) { return !std::isfinite(value); });
    if (bad == samples.end()) continue;
    const auto index = static_cast<std::size_t>(bad - samples.begin());
    const auto number = static_cast<std::uint32_t>(index / row);
    if (!first || number < first->row) first = {static_cast<std::uint32_t>(k), number, index % row, *bad};
  }
  return first;
}

}  // namespace muster
