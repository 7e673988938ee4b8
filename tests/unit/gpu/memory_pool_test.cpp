#include "gpu/memory_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "muster/error.hpp"
#include "muster/random.hpp"

namespace muster {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Addresses that nobody may touch, each segment far from the others or right behind the last one.
class Segments {
 public:
  MemoryPool::Source source() {
    return {[this](std::size_t bytes) -> void* {
              if (held() + bytes > most) return nullptr;
              void* const segment = reinterpret_cast<void*>(next_);
              next_ += bytes;
              sizes_[segment] = bytes;
              ++obtained;
              return segment;
            },
            [this](void* segment) { EXPECT_EQ(sizes_.erase(segment), 1U); }};
  }
  std::size_t held() const {
    std::size_t sum = 0;
    for (const auto& [segment, bytes] : sizes_) sum += bytes;
    return sum;
  }

  std::size_t most = 1024 * kMiB;  // what there is
  int obtained = 0;

 private:
  std::uintptr_t next_ = 1 << 30;
  std::map<void*, std::size_t> sizes_;
};

MemoryPool::Options bound(std::size_t bytes) {
  return {bytes, "cuda:7", "cluster.example"};
}

TEST(MemoryPool, BlocksAreAlignedAndApart) {
  Segments segments;
  MemoryPool pool(bound(64 * kMiB), segments.source());
  std::map<std::uintptr_t, std::size_t> blocks;
  for (const std::size_t bytes : {1U, 256U, 257U, 5000U, 1048576U, 1048577U, 3000000U, 0U}) {
    const auto where = reinterpret_cast<std::uintptr_t>(pool.take(bytes));
    EXPECT_EQ(where % MemoryPool::kAlignment, 0U);
    blocks[where] = std::max<std::size_t>(bytes, 1);
  }
  ASSERT_EQ(blocks.size(), 8U);
  for (auto block = blocks.begin(); std::next(block) != blocks.end(); ++block)
    EXPECT_LE(block->first + block->second, std::next(block)->first);
}

TEST(MemoryPool, WhatIsGivenIsTakenAgain) {
  Segments segments;
  MemoryPool pool(bound(64 * kMiB), segments.source());
  void* const first = pool.take(5 * kMiB);
  pool.give(first);
  EXPECT_EQ(pool.take(4 * kMiB), first);
  EXPECT_EQ(segments.obtained, 1);
  for (int i = 0; i < 1000; ++i) pool.give(pool.take(100000));
  EXPECT_EQ(segments.obtained, 2);
}

TEST(MemoryPool, NeighborsBecomeOneAgainInAnyOrder) {
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}}) {
    Segments segments;
    MemoryPool pool(bound(64 * kMiB), segments.source());
    std::vector<void*> parts;
    for (int i = 0; i < 4; ++i) parts.push_back(pool.take(MemoryPool::kSegment / 4));
    EXPECT_EQ(segments.obtained, 1);
    for (const std::size_t i : order) pool.give(parts[i]);
    EXPECT_EQ(pool.use().held_bytes, MemoryPool::kSegment);
    pool.trim();
    EXPECT_EQ(segments.held(), 0U);
    EXPECT_EQ(pool.use().held_bytes, 0U);
  }
}

TEST(MemoryPool, SegmentsBesideEachOtherStayTwo) {
  Segments segments;
  MemoryPool pool(bound(64 * kMiB), segments.source());
  void* const low = pool.take(4 * kMiB);
  void* const high = pool.take(4 * kMiB);  // right behind it
  pool.give(high);
  pool.give(low);
  static_cast<void>(pool.take(8 * kMiB));
  EXPECT_EQ(segments.obtained, 3);
}

TEST(MemoryPool, TheBestFitIsTaken) {
  Segments segments;
  MemoryPool pool(bound(64 * kMiB), segments.source());
  void* const large = pool.take(16 * kMiB);
  void* const fitting = pool.take(6 * kMiB);
  pool.give(large);
  pool.give(fitting);
  EXPECT_EQ(pool.take(5 * kMiB), fitting);
}

TEST(MemoryPool, SmallBlocksDoNotCutLargeOnes) {
  Segments segments;
  MemoryPool pool(bound(64 * kMiB), segments.source());
  void* const large = pool.take(8 * kMiB);
  pool.give(large);
  static_cast<void>(pool.take(1000));
  EXPECT_EQ(pool.take(8 * kMiB), large);
}

TEST(MemoryPool, UseIsCounted) {
  Segments segments;
  MemoryPool pool(bound(64 * kMiB), segments.source());
  void* const one = pool.take(1);
  void* const two = pool.take(3 * kMiB);
  EXPECT_EQ(pool.use().taken_bytes, 256 + 3 * kMiB);
  EXPECT_EQ(pool.use().held_bytes, segments.held());
  pool.give(two);
  EXPECT_EQ(pool.use().taken_bytes, 256U);
  EXPECT_EQ(pool.use().peak_bytes, 256 + 3 * kMiB);
  EXPECT_EQ(pool.use().bound_bytes, 64 * kMiB);
  pool.give(one);
  EXPECT_EQ(pool.use().taken_bytes, 0U);
}

TEST(MemoryPool, TheBoundIsNamedAndWhatChangesIt) {
  Segments segments;
  MemoryPool pool(bound(10 * kMiB), segments.source());
  void* const most = pool.take(8 * kMiB);
  try {
    pool.take(3 * kMiB);
    FAIL();
  } catch (const JobError& error) {
    EXPECT_EQ(error.key(), "cluster.example");
    EXPECT_STREQ(error.what(),
                 "cuda:7: 3.0 MiB more would exceed the bound of 10.0 MiB; 8.0 MiB are in use; "
                 "cluster.example changes it");
  }
  EXPECT_EQ(pool.use().taken_bytes, 8 * kMiB);
  static_cast<void>(pool.take(2 * kMiB));  // what is left can still be taken
  pool.give(most);
  EXPECT_THROW(pool.take(~std::size_t{0}), Error);
}

TEST(MemoryPool, SmallBlocksReachTheBound) {
  Segments segments;
  MemoryPool pool(bound(1000 * 256), segments.source());
  for (int i = 0; i < 1000; ++i) static_cast<void>(pool.take(256));
  EXPECT_THROW(pool.take(1), JobError);
}

TEST(MemoryPool, FreeSegmentsMakeRoomForOthers) {
  Segments segments;
  MemoryPool pool(bound(10 * kMiB), segments.source());
  void* const parts[] = {pool.take(4 * kMiB), pool.take(4 * kMiB)};
  for (void* part : parts) pool.give(part);
  EXPECT_NE(pool.take(9 * kMiB), nullptr);
  EXPECT_LE(pool.use().held_bytes, 10 * kMiB);
}

TEST(MemoryPool, WhatIsSetAsideCountsInTheBound) {
  Segments segments;
  MemoryPool pool(bound(8 * kMiB), segments.source());
  void* const taken = pool.take(4 * kMiB);
  EXPECT_FALSE(pool.set_aside(5 * kMiB));
  EXPECT_TRUE(pool.set_aside(3 * kMiB));
  EXPECT_EQ(pool.use().taken_bytes, 7 * kMiB);
  EXPECT_EQ(pool.use().held_bytes, 7 * kMiB);
  EXPECT_EQ(segments.held(), 4 * kMiB);
  EXPECT_THROW(pool.take(2 * kMiB), JobError);
  pool.put_back(3 * kMiB);
  EXPECT_EQ(pool.use().peak_bytes, 7 * kMiB);
  pool.give(taken);
  EXPECT_TRUE(pool.set_aside(8 * kMiB));  // free segments make room
  EXPECT_EQ(segments.held(), 0U);
  pool.put_back(8 * kMiB);
  EXPECT_EQ(pool.use().taken_bytes, 0U);
  EXPECT_EQ(pool.use().held_bytes, 0U);
}

TEST(MemoryPool, ADeviceWithoutMoreIsAnErrorOfItsOwn) {
  Segments segments;
  segments.most = 8 * kMiB;
  MemoryPool pool(bound(64 * kMiB), segments.source());
  pool.give(pool.take(4 * kMiB));
  EXPECT_NE(pool.take(6 * kMiB), nullptr);  // after the free segment was given back
  try {
    pool.take(4 * kMiB);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cuda:7: no memory left for 4.0 MiB more; Muster holds 6.0 MiB");
  }
}

TEST(MemoryPool, AnyOrderOfTakingAndGivingComesBackToTheBaseLine) {
  Segments segments;
  MemoryPool pool(bound(256 * kMiB), segments.source());
  SplitMix64 random(11);
  std::map<std::uintptr_t, std::size_t> taken;
  for (int i = 0; i < 20000; ++i) {
    if (taken.size() > 60 || (!taken.empty() && random.next() % 2 == 0)) {
      auto block = taken.begin();
      std::advance(block, static_cast<std::ptrdiff_t>(random.next() % taken.size()));
      pool.give(reinterpret_cast<void*>(block->first));
      taken.erase(block);
    } else {
      const std::size_t bytes = random.next() % (random.next() % 4 == 0 ? 3 * kMiB : 5000) + 1;
      const auto where = reinterpret_cast<std::uintptr_t>(pool.take(bytes));
      const auto next = taken.lower_bound(where);
      ASSERT_TRUE(next == taken.end() || where + bytes <= next->first);
      ASSERT_TRUE(next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= where);
      taken[where] = bytes;
    }
    ASSERT_LE(pool.use().held_bytes, 256 * kMiB);
    ASSERT_EQ(pool.use().held_bytes, segments.held());
  }
  for (const auto& [where, bytes] : taken) pool.give(reinterpret_cast<void*>(where));
  EXPECT_EQ(pool.use().taken_bytes, 0U);
  pool.trim();
  EXPECT_EQ(segments.held(), 0U);
}

TEST(MemoryPoolDeathTest, WhatWasNotTakenIsNotGiven) {
  Segments segments;
  MemoryPool pool(bound(64 * kMiB), segments.source());
  void* const block = pool.take(1000);
  EXPECT_DEATH(pool.give(static_cast<std::byte*>(block) + 256), "check failed");
  pool.give(block);
  EXPECT_DEATH(pool.give(block), "check failed");
}

}  // namespace
}  // namespace muster
