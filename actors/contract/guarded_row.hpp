// One sample's fields with a margin on both sides of each, filled with a pattern, to see what a source
// writes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "muster/tensors.hpp"

namespace muster {

class GuardedRow {
 public:
  GuardedRow(const std::vector<Field>& fields, std::byte pattern) : fields_(fields), pattern_(pattern) {
    for (const Field& field : fields) memory_.emplace_back(field.bytes() + 2 * kMargin, pattern);
    for (auto& bytes : memory_)
      spans_.push_back(std::span(bytes).subspan(kMargin, bytes.size() - 2 * kMargin));
  }

  std::span<const std::span<std::byte>> row() { return spans_; }
  std::span<const std::byte> field(std::size_t k) const { return spans_[k]; }
  std::byte pattern() const { return pattern_; }

  bool margins_are_whole(std::size_t k) const {
    const auto whole = [this](std::span<const std::byte> part) {
      return std::ranges::all_of(part, [this](std::byte byte) { return byte == pattern_; });
    };
    return whole(std::span(memory_[k]).first(kMargin)) && whole(std::span(memory_[k]).last(kMargin));
  }

  Batch as_batch() const {
    Batch batch;
    batch.rows = 1;
    for (std::size_t k = 0; k < fields_.size(); ++k) {
      std::vector<std::int64_t> shape{1};
      shape.insert(shape.end(), fields_[k].shape.begin(), fields_[k].shape.end());
      batch.tensors.push_back({fields_[k].dtype, shape, {spans_[k].begin(), spans_[k].end()}});
    }
    return batch;
  }

 private:
  static constexpr std::size_t kMargin = 256;  // keeps the alignment of a vector
  const std::vector<Field>& fields_;
  std::byte pattern_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::span<std::byte>> spans_;
};

}  // namespace muster
