#include "actors/contract/batch_rows.hpp"

#include <algorithm>

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

Batch with_margin(const Batch& batch, float behind) {
  constexpr std::size_t kMargin = std::size_t{1} << 18;  // elements; a row may be read far beyond its end
  Batch copy{batch.rows, batch.padding, {}};
  copy.tensors.resize(batch.tensors.size());
  for (std::size_t k = 0; k < batch.tensors.size(); ++k) {
    const Tensor& from = batch.tensors[k];
    Tensor& to = copy.tensors[k];
    to.dtype = from.dtype;
    to.shape = from.shape;
    if (from.dtype == DType::float32) {  // what has been there stays in the vector's memory
      to.bytes.resize(from.bytes.size() + kMargin * sizeof(float));
      std::ranges::fill(to.as<float>(), behind);
      to.bytes.resize(from.bytes.size());
      std::ranges::copy(from.bytes, to.bytes.begin());
    } else {
      to.bytes = from.bytes;
    }
  }
  return copy;
}

std::string row_text(const Batch& batch) {
  std::string text;
  for (std::size_t k = 0; k < batch.tensors.size(); ++k) {
    const Tensor& tensor = batch.tensors[k];
    const char* const types[] = {"float32", "int64", "uint8"};
    text += (k == 0 ? "" : ", ") + std::to_string(row_bytes(tensor, batch) / size_of(tensor.dtype)) + " " +
            types[static_cast<int>(tensor.dtype)] + " in field " + std::to_string(k);
  }
  return text;
}

}  // namespace muster
