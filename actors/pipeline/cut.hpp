// `data.skip`, then `data.take`: which part of a source serves a job, in source order and before the shuffle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace muster {

/// Indices [begin, begin + count) of the source.
struct Cut {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  std::uint64_t asked = 0;  ///< what `take` asked for; without it, what there was
  std::uint64_t had = 0;    ///< what there was after `skip`
  bool exhausted = false;   ///< more was asked than there was

  bool operator==(const Cut&) const = default;
};

/// Cuts a source of `size` samples (or ready-made batches). Never fails: what is missing is told by the
/// result.
constexpr Cut cut_source(std::uint64_t size, std::uint64_t skip, std::optional<std::uint64_t> take) {
  const std::uint64_t begin = std::min(skip, size);
  const std::uint64_t had = size - begin;
  const std::uint64_t asked = take.value_or(had);
  return {begin, std::min(asked, had), asked, had, asked > had};
}

}  // namespace muster
