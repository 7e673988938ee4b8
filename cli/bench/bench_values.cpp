#include "cli/bench/bench_values.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace muster::cli {
namespace {

// A prime: what lies in a wrong place is found, also if that is off by whole lines, pages or chunks.
constexpr std::size_t kPeriod = 4093;

const std::array<float, kPeriod>& values() {
  static const auto all = [] {
    std::array<float, kPeriod> made{};
    for (std::uint32_t i = 0; i < kPeriod; ++i)
      made[i] = static_cast<float>((i * 2654435761u >> 9) & 0xffff) * (1.0f / 16384.0f) - 2.0f + 1.0f / 3.0f;
    return made;
  }();
  return all;
}

using Block = std::array<float, 1024>;

// The elements [first, first + count) of the tree node over `width` ranks from `rank` on.
void sum_node(std::uint64_t iteration, std::uint32_t ranks, std::uint32_t rank, std::uint32_t width,
              std::size_t first, std::span<float> out) {
  if (width == 1) return fill_bench_values(iteration, rank, out, first);
  const std::uint32_t half = width / 2;
  sum_node(iteration, ranks, rank, half, first, out);
  if (rank + half >= ranks) return;
  Block right;
  sum_node(iteration, ranks, rank + half, half, first, std::span(right).first(out.size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += right[i];
}

std::uint64_t differing(std::span<const float> expected, std::span<const float> found) {
  if (std::memcmp(expected.data(), found.data(), found.size_bytes()) == 0) return 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    wrong += std::bit_cast<std::uint32_t>(expected[i]) != std::bit_cast<std::uint32_t>(found[i]) ? 1 : 0;
  return wrong;
}

}  // namespace

void fill_bench_values(std::uint64_t iteration, std::uint32_t rank, std::span<float> out, std::size_t first) {
  for (std::size_t at = (iteration * 40503u + rank * 1069u + first) % kPeriod; !out.empty(); at = 0) {
    const std::size_t count = std::min(out.size(), kPeriod - at);
    std::copy_n(values().begin() + static_cast<std::ptrdiff_t>(at), count, out.begin());
    out = out.subspan(count);
  }
}

std::uint64_t bench_mismatches(std::uint64_t iteration, std::uint32_t ranks, std::span<const float> result) {
  const std::uint32_t width = std::bit_ceil(ranks);
  std::uint64_t wrong = 0;
  Block expected;
  for (std::size_t first = 0; first < result.size(); first += expected.size()) {
    const auto found = result.subspan(first, std::min(expected.size(), result.size() - first));
    const auto block = std::span(expected).first(found.size());
    sum_node(iteration, ranks, 0, width, first, block);
    for (float& value : block) value /= static_cast<float>(ranks);
    wrong += differing(block, found);
  }
  return wrong;
}

}  // namespace muster::cli
