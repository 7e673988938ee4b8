// Sources of simulated jobs beside "synthetic": "generated", a generator for each shard, and "ready",
// ready-made batches. Both have the options of "synthetic"; their samples are those of plain::sample_of.
#pragma once

#include "muster/registry.hpp"

namespace muster::simulation {

/// Samples that the generator of a shard gives in an epoch: not the same number for all.
std::uint64_t generated_length(std::uint64_t samples, std::uint32_t shard, std::uint32_t shards,
                               std::uint64_t epoch);
/// The number of one of them among all samples that there ever are.
std::uint64_t generated_index(std::uint32_t shard, std::uint64_t epoch, std::uint64_t local);

/// Rows of a ready-made batch.
std::uint64_t ready_rows(std::uint64_t batch);
/// The number of one of them.
std::uint64_t ready_index(std::uint64_t batch, std::uint64_t row);

/// The built-in models and sources, and these.
Registry simulation_registry();

}  // namespace muster::simulation
