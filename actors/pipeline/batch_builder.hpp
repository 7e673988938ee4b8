// Makes micro-batches row by row, in buffers that are used again once their last reader has let go of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.hpp"
#include "muster/tensors.hpp"

namespace muster {

/// Buffers between two lives. Grows to the number of micro-batches that are alive at a time, which prefetch
/// bounds. Safe for all threads: batches are made by a loader and released by whoever computed with them.
class BatchPool {
 public:
  std::unique_ptr<Batch> acquire();
  void release(std::unique_ptr<Batch> batch);

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<Batch>> free_ MUSTER_GUARDED_BY(mutex_);
};

/// begin(), then row() for each row, then finish(). One thread. In a steady run no buffer is allocated.
class BatchBuilder {
 public:
  /// Throws JobError "data.source" for fields that cannot be: none, or an extent below zero.
  explicit BatchBuilder(std::vector<Field> fields);

  const std::vector<Field>& fields() const { return fields_; }

  /// Starts a batch of so many rows. All bytes are zero: a row that is padding, or that a source leaves
  /// unwritten, never shows an earlier batch.
  void begin(std::uint32_t rows);

  /// The bytes of one row of each field. Valid until the next call.
  std::span<const std::span<std::byte>> row(std::uint32_t index);

  /// Hands out the batch: `rows` samples, then `padding` rows; what lies beyond is cut off.
  std::shared_ptr<const Batch> finish(std::uint32_t rows, std::uint32_t padding);

  /// Bytes of a batch of so many rows, saturated at 2^64 - 1.
  std::uint64_t bytes(std::uint64_t rows) const;

 private:
  void set_rows(Batch& batch, std::uint32_t rows) const;

  std::vector<Field> fields_;
  std::vector<std::size_t> row_bytes_;
  std::vector<std::span<std::byte>> row_;
  std::shared_ptr<BatchPool> pool_;
  std::unique_ptr<Batch> batch_;
};

}  // namespace muster
