// How far loading may run ahead within `data.memory`.
#pragma once

#include <cstdint>

namespace muster {

/// What a node's loading is asked to hold, in bytes and counts.
struct ReaderMemory {
  std::uint64_t memory_bytes = 0;       ///< `data.memory`
  std::uint64_t resident_bytes = 0;     ///< what the sources hold themselves
  std::uint64_t micro_batch_bytes = 0;  ///< the largest micro-batch
  std::uint32_t shards = 1;             ///< shards that the node loads for
  std::uint32_t prefetch = 2;  ///< `data.prefetch`: micro-batches that a shard may hold ready; 0 counts as 1
};

/// The bytes that `depth` micro-batches a shard come to, saturated at 2^64 - 1.
std::uint64_t memory_needed(const ReaderMemory& reader, std::uint32_t depth);

/// How many micro-batches a shard may hold ready: at least 1 and at most `prefetch`. Throws JobError
/// "data.memory" that says how much is needed when not even one fits.
std::uint32_t prefetch_depth(const ReaderMemory& reader);

}  // namespace muster
