// What `muster bench allreduce` adds up, and what must come out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace muster::cli {

/// A rank's contribution to an iteration, from element `first` on, as quick as a copy: what is added up has
/// just been written, as in a backward pass.
void fill_bench_values(std::uint64_t iteration, std::uint32_t rank, std::span<float> out,
                       std::size_t first = 0);

/// The number of elements of `result` that differ, in any bit, from the sum over all ranks in canonical
/// order, divided once. A plain recursion over blocks that stay in a core's cache; shares no code with the
/// reduction.
std::uint64_t bench_mismatches(std::uint64_t iteration, std::uint32_t ranks, std::span<const float> result);

}  // namespace muster::cli
