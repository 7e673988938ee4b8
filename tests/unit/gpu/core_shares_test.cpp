#include "gpu/core_shares.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <set>
#include <thread>

#include "gpu/device.hpp"
#include "muster/error.hpp"

namespace {

using namespace muster;
using Cores = std::vector<int>;
using Shares = std::vector<Cores>;

TEST(CoreShares, ProcessesHaveCachesOfTheirOwnWhereThatIsPossible) {
  const std::string machine = "package:2 l3:2 core:2 pu:1";
  EXPECT_EQ(share_cores(2, machine), (Shares{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(share_cores(4, machine), (Shares{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(share_cores(8, machine), (Shares{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
  EXPECT_EQ(share_cores(1, machine), (Shares{{0, 1, 2, 3, 4, 5, 6, 7}}));
}

// The two threads of a core have numbers that are far apart.
TEST(CoreShares, ThreadsOfOneCoreAreForOneProcess) {
  const std::string machine = "package:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)";
  EXPECT_EQ(share_cores(2, machine), (Shares{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(share_cores(4, machine), (Shares{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(CoreShares, ProcessesThatAreMoreThanCoresHaveOneTogetherOrNone) {
  EXPECT_EQ(share_cores(4, "package:1 core:2 pu:1"), (Shares{{0}, {0}, {1}, {1}}));
  EXPECT_EQ(share_cores(3, "package:1 core:2 pu:1"), Shares{});
  EXPECT_EQ(share_cores(5, "package:1 core:2 pu:1"), Shares{});
  EXPECT_EQ(share_cores(0), Shares{});
}

TEST(CoreShares, EveryCoreIsInOneShare) {
  for (const int packages : {1, 2, 3}) {
    for (const int cores : {1, 2, 5, 8}) {
      const std::string machine =
          "package:" + std::to_string(packages) + " core:" + std::to_string(cores) + " pu:1";
      const auto all = static_cast<std::size_t>(packages * cores);
      for (std::size_t processes = 1; processes <= all; ++processes) {
        std::set<int> seen;
        std::size_t count = 0, least = all;
        for (const Cores& share : share_cores(processes, machine)) {
          seen.insert(share.begin(), share.end());
          count += share.size();
          least = std::min(least, share.size());
        }
        EXPECT_EQ(seen.size(), all) << machine << ", " << processes;
        EXPECT_EQ(count, all) << machine << ", " << processes;
        EXPECT_GE(least, 1u) << machine << ", " << processes;
      }
    }
  }
}

TEST(CoreShares, HaveNames) {
  EXPECT_EQ(text_of_cores({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(text_of_cores({}), "");
}

TEST(CoreShares, AreOfTheCoresThatThisProcessMayUse) {
  const Cores all = allowed_cores();
  EXPECT_EQ(share_cores(1), Shares{all});
  std::thread([&] {
    const OnCores one({all.back()});
    EXPECT_EQ(share_cores(1), (Shares{{all.back()}}));
    EXPECT_EQ(share_cores(2), (Shares{{all.back()}, {all.back()}}));
  }).join();
}

TEST(CoreShares, AProcessIsMovedWithAllItsThreads) {
  const Cores before = allowed_cores();
  std::barrier moved(2);
  Cores there;
  std::thread other([&] {
    moved.arrive_and_wait();
    there = allowed_cores();
  });
  move_to_cores(::getpid(), {before.back()});
  EXPECT_EQ(allowed_cores(), Cores{before.back()});
  moved.arrive_and_wait();
  other.join();
  EXPECT_EQ(there, Cores{before.back()});
  move_to_cores(::getpid(), before);
  EXPECT_EQ(allowed_cores(), before);
  EXPECT_THROW(move_to_cores(::getpid(), {60000}), Error);
}

TEST(CoreShares, AProcessThatHasEndedIsNotMoved) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  move_to_cores(child, allowed_cores());
}

TEST(CoreShares, WhatIsStartedStaysThereAndTheStarterGoesBack) {
  const Cores before = allowed_cores();
  Cores within;
  std::thread later;
  {
    const OnCores one({before.back()});
    later = std::thread([&] { within = allowed_cores(); });
  }
  later.join();
  EXPECT_EQ(within, Cores{before.back()});
  EXPECT_EQ(allowed_cores(), before);
  { const OnCores none({}); }
  EXPECT_EQ(allowed_cores(), before);
  EXPECT_THROW(OnCores({60000}), Error);
  EXPECT_EQ(allowed_cores(), before);
}

}  // namespace
