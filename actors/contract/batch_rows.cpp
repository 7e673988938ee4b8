#include "actors/contract/batch_rows.hpp"

#include <algorithm>
#include <cmath>

namespace muster {

namespace {

std::size_t row_bytes(const Tensor& tensor, const Batch& batch) {
  const std::size_t rows = std::size_t{batch.rows} + batch.padding;
  return rows == 0 ? 0 : tensor.bytes.size() / rows;
}

void append_rows(Batch& to, const Batch& from, std::uint32_t begin, std::uint32_t end) {
  to.tensors.resize(from.tensors.size());
  for (std::size_t k = 0; k < from.tensors.size(); ++k) {
    const Tensor& source = from.tensors[k];
    Tensor& target = to.tensors[k];
    const std::size_t row = row_bytes(source, from);
    const std::int64_t rows = target.shape.empty() ? 0 : target.shape[0];
    target.dtype = source.dtype;
    target.shape = source.shape;
    target.shape[0] = rows + (end - begin);
    target.bytes.insert(target.bytes.end(), source.bytes.begin() + static_cast<std::ptrdiff_t>(begin * row),
                        source.bytes.begin() + static_cast<std::ptrdiff_t>(end * row));
  }
}

}  // namespace

Batch rows_of(const Batch& batch, std::uint32_t begin, std::uint32_t end) {
  Batch part;
  append_rows(part, batch, begin, end);
  part.rows = end - begin;
  return part;
}

Batch twice(const Batch& batch) {
  Batch two = rows_of(batch, 0, batch.rows);
  append_rows(two, batch, 0, batch.rows);
  two.rows = 2 * batch.rows;
  return two;
}

Batch padded(const Batch& batch, std::uint32_t padding) {
  Batch more = rows_of(batch, 0, batch.rows);
  for (std::uint32_t i = 0; i < padding; ++i) append_rows(more, batch, 0, 1);
  more.rows = batch.rows;
  more.padding = padding;
  return more;
}

bool all_finite(const Batch& batch) {
  return std::ranges::all_of(batch.tensors, [](const Tensor& tensor) {
    if (tensor.dtype != DType::float32) return true;
    return std::ranges::all_of(tensor.as<float>(), [](float value) { return std::isfinite(value); });
  });
}

}  // namespace muster
