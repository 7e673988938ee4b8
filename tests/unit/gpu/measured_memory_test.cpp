#include "gpu/measured_memory.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/support/sanitized.hpp"

namespace muster {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kNoise = 4 * kMiB;

// Touched, as memory that is only asked for takes none.
std::unique_ptr<char[]> taken(std::size_t bytes) {
  std::unique_ptr<char[]> memory(new char[bytes]);
  for (std::size_t i = 0; i < bytes; i += 1024) static_cast<volatile char*>(memory.get())[i] = 1;
  return memory;
}

MeasuredMemory measured(const std::function<void()>& work) {
  return measure_memory(*make_host_device(), work);
}

TEST(MeasuredMemory, IsTheMostAtOneTime) {
  if (kSanitized) return;  // a sanitizer keeps what is freed
  const MeasuredMemory one = measured([] { taken(48 * kMiB); });
  ASSERT_TRUE(one.known) << one.how;
  EXPECT_GE(one.bytes, 48 * kMiB - kNoise);
  EXPECT_LE(one.bytes, 48 * kMiB + kNoise);
  const MeasuredMemory in_turns = measured([] {
    taken(48 * kMiB);
    taken(48 * kMiB);
  });
  EXPECT_LE(in_turns.bytes, 48 * kMiB + kNoise);
  const MeasuredMemory together =
      measured([] { const auto first = taken(48 * kMiB), second = taken(16 * kMiB); });
  EXPECT_GE(together.bytes, 64 * kMiB - kNoise);
}

TEST(MeasuredMemory, WhatWasThereBeforeDoesNotCount) {
  if (kSanitized) return;  // a sanitizer keeps what is freed
  taken(96 * kMiB);        // a peak of before
  const auto kept = taken(32 * kMiB);
  EXPECT_LE(measured([] { taken(kMiB); }).bytes, kMiB + kNoise);
}

// malloc would give it again without that more were resident.
TEST(MeasuredMemory, WhatWasFreedBeforeCounts) {
  if (kSanitized) return;  // a sanitizer keeps what is freed
  std::vector<std::unique_ptr<char[]>> small;
  for (int i = 0; i < 2000; ++i) small.push_back(taken(16 << 10));
  small.clear();
  const MeasuredMemory again = measured([&] {
    for (int i = 0; i < 2000; ++i) small.push_back(taken(16 << 10));
  });
  EXPECT_GE(again.bytes, 2000 * (16 << 10) - kNoise);
}

TEST(MeasuredMemory, TheWorkIsDoneOnceAndItsErrorsPass) {
  int done = 0;
  measured([&] { ++done; });
  EXPECT_EQ(done, 1);
  EXPECT_THROW(measured([] { throw std::runtime_error("no"); }), std::runtime_error);
}

}  // namespace
}  // namespace muster
