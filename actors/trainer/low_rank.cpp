#include "actors/trainer/low_rank.hpp"

#include <algorithm>

namespace muster {

LowRank::LowRank(const Layout& layout, std::uint32_t rank)
    : powersgd_(layout, rank),
      orthonormal_(powersgd_.first()),
      q_(layout.parameters),
      work_(layout.total()) {}

void LowRank::project(std::span<const float> left_out, std::span<float> copy, std::span<float> leaf) {
  for (std::size_t i = 0; i < left_out.size(); ++i) work_[i] += left_out[i];
  std::copy_n(work_.begin(), left_out.size(), copy.begin());
  powersgd_.project(work_, q_, leaf);
  std::fill(leaf.begin() + static_cast<std::ptrdiff_t>(first()), leaf.end(), 0.0f);
}

std::span<const float> LowRank::orthonormal(std::span<const float> reduced) {
  std::copy_n(reduced.begin(), orthonormal_.size(), orthonormal_.begin());
  powersgd_.orthonormalize(orthonormal_);
  return orthonormal_;
}

std::span<const float> LowRank::mean(std::span<const float> reduced) {
  powersgd_.change(orthonormal(reduced), reduced.subspan(first()), work_);
  return work_;
}

}  // namespace muster
