// Parts and multiples of a micro-batch, for checks that compare what a model makes of them.
#pragma once

#include "muster/tensors.hpp"

namespace muster {

/// Rows [begin, end) of a batch, without its padding. end <= batch.rows.
Batch rows_of(const Batch& batch, std::uint32_t begin, std::uint32_t end);

/// The rows of a batch twice, without its padding.
Batch twice(const Batch& batch);

/// The rows of a batch, and behind them as many rows of padding: copies of its first one.
Batch padded(const Batch& batch, std::uint32_t padding);

/// Whether all its float32 numbers are finite.
bool all_finite(const Batch& batch);

}  // namespace muster
