#include "actors/pipeline/batch_builder.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "actors/pipeline/batch_check.hpp"
#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {

std::unique_ptr<Batch> BatchPool::acquire() {
  const MutexLock lock(mutex_);
  if (free_.empty()) return std::make_unique<Batch>();
  auto batch = std::move(free_.back());
  free_.pop_back();
  return batch;
}

void BatchPool::release(std::unique_ptr<Batch> batch) {
  const MutexLock lock(mutex_);
  free_.push_back(std::move(batch));
}

BatchBuilder::BatchBuilder(std::vector<Field> fields)
    : fields_(std::move(fields)), pool_(std::make_shared<BatchPool>()) {
  if (fields_.empty()) throw JobError("data.source", "the source declares no fields");
  for (const auto& field : fields_) {
    std::uint64_t bytes = 0;
    if (!tensor_bytes(field.dtype, field.shape, bytes)) {
      throw JobError("data.source", "the source declares a field of an impossible shape");
    }
    row_bytes_.push_back(bytes);
  }
  row_.resize(fields_.size());
}

void BatchBuilder::set_rows(Batch& batch, std::uint32_t rows) const {
  batch.tensors.resize(fields_.size());
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    auto& tensor = batch.tensors[k];
    tensor.dtype = fields_[k].dtype;
    tensor.shape.assign(1, rows);
    tensor.shape.insert(tensor.shape.end(), fields_[k].shape.begin(), fields_[k].shape.end());
    tensor.bytes.resize(rows * row_bytes_[k]);
  }
}

void BatchBuilder::begin(std::uint32_t rows) {
  if (!batch_) batch_ = pool_->acquire();
  set_rows(*batch_, rows);
  for (auto& tensor : batch_->tensors) std::fill(tensor.bytes.begin(), tensor.bytes.end(), std::byte{0});
}

std::span<const std::span<std::byte>> BatchBuilder::row(std::uint32_t index) {
  MUSTER_CHECK(batch_ && index < batch_->tensors[0].shape[0], "row", index);
  for (std::size_t k = 0; k < fields_.size(); ++k) {
    row_[k] = std::span(batch_->tensors[k].bytes).subspan(index * row_bytes_[k], row_bytes_[k]);
  }
  return row_;
}

std::shared_ptr<const Batch> BatchBuilder::finish(std::uint32_t rows, std::uint32_t padding) {
  MUSTER_CHECK(batch_ && std::int64_t{rows} + padding <= batch_->tensors[0].shape[0], "rows", rows, "padding",
               padding);
  set_rows(*batch_, rows + padding);
  batch_->rows = rows;
  batch_->padding = padding;
  return {batch_.release(), [pool = pool_](Batch* batch) { pool->release(std::unique_ptr<Batch>(batch)); }};
}

std::uint64_t BatchBuilder::bytes(std::uint64_t rows) const {
  std::uint64_t sum = 0;
  for (const std::uint64_t row_bytes : row_bytes_) {
    std::uint64_t part = 0;
    if (__builtin_mul_overflow(row_bytes, rows, &part) || __builtin_add_overflow(sum, part, &sum)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return sum;
}

}  // namespace muster
