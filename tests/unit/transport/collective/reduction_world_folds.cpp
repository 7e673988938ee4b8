// The GPU of reduction_world.hpp, whose folds end late.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "muster/error.hpp"
#include "tests/unit/transport/collective/reduction_world.hpp"

namespace muster::testing {

void LateFolds::work() {
  if (!calls_left_) return;
  if (*calls_left_ == 0) throw Error("the GPU has failed");
  --*calls_left_;
}

std::uint64_t LateFolds::ended() {
  work();
  return ended_;
}

float* LateFolds::make(std::size_t elements) {
  work();
  return owned_.emplace_back(elements, std::numeric_limits<float>::quiet_NaN()).data();
}

std::uint64_t LateFolds::fold(const FoldProgram& program, std::span<const float* const> operands,
                              std::size_t count, float divisor, float* out) {
  work();
  Fold fold{program, {operands.begin(), operands.end()}, {}, count, divisor, out};
  for (const float* values : operands) fold.were.emplace_back(values, values + count);
  std::fill_n(out, count, std::numeric_limits<float>::quiet_NaN());
  under_way_.push_back(std::move(fold));
  later_([this] { run(); });
  return ++begun_;
}

void LateFolds::run() {
  if (under_way_.empty()) return;  // it was waited for
  end_one();
  said_();
}

void LateFolds::wait() noexcept {
  while (!under_way_.empty()) end_one();
}

void LateFolds::end_one() {
  const Fold fold = std::move(under_way_.front());
  under_way_.pop_front();
  for (std::size_t i = 0; i < fold.operands.size(); ++i)
    EXPECT_TRUE(oracle::same_bits(fold.operands[i], fold.were[i].data(), fold.count)) << "operand " << i;
  muster::fold(fold.program, fold.operands, fold.count, fold.divisor, fold.out);
  ++ended_;
}

void LateFolds::pairs(std::span<const float> values, std::size_t stride, std::vector<float>& out) {
  work();
  out.clear();
  for (std::size_t i = 0; i + 2 <= values.size(); i += stride)
    out.insert(out.end(), {values[i], values[i + 1]});
}

}  // namespace muster::testing
