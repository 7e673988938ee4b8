// Parts and multiples of a micro-batch, for checks that compare what a model makes of them.
#pragma once

#include <string>

#include "muster/tensors.hpp"

namespace muster {

/// Rows [begin, end) of a batch, without its padding. end <= batch.rows.
Batch rows_of(const Batch& batch, std::uint32_t begin, std::uint32_t end);

/// The rows of a batch twice, without its padding.
Batch twice(const Batch& batch);

/// The rows of a batch, and behind them as many rows of padding: copies of its first one.
Batch padded(const Batch& batch, std::uint32_t padding);

/// A copy that is moved, and never copied, with so many bytes behind each float32 tensor that hold this
/// number: what a model computes shows whether it reads them.
Batch with_margin(const Batch& batch, float behind);

/// What a row has: "2 float32 in field 0, 1 int64 in field 1".
std::string row_text(const Batch& batch);

}  // namespace muster
