#include <gtest/gtest.h>

#include "actors/rules/stragglers/wait_for_graph.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

NodeName replica(std::uint32_t slot) {
  return {false, slot};
}

// Each of these waits for the other one since 0 ms.
WaitForGraph graph(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  WaitForGraph waits(milliseconds(2000));
  for (const auto& [waiter, late] : edges) waits.waits(replica(waiter), replica(late), milliseconds(0));
  return waits;
}

TEST(WaitForGraph, WhoWaitsThroughOthersWaitsItself) {
  const WaitForGraph waits = graph({{0, 2}, {1, 2}, {2, 4}, {4, 5}});
  EXPECT_TRUE(waits.waits_itself(replica(2), milliseconds(10)));
  EXPECT_TRUE(waits.waits_itself(replica(4), milliseconds(10)));
  EXPECT_FALSE(waits.waits_itself(replica(5), milliseconds(10)));
  EXPECT_FALSE(waits.waits_itself(replica(3), milliseconds(10))) << "nobody has spoken of it";
}

TEST(WaitForGraph, TwoThatWaitForEachOtherHaveNobodyElseToBlame) {
  const WaitForGraph waits = graph({{0, 1}, {1, 2}, {2, 1}});
  EXPECT_FALSE(waits.waits_itself(replica(1), milliseconds(10)));
  EXPECT_FALSE(waits.waits_itself(replica(2), milliseconds(10)));
  EXPECT_TRUE(waits.waits_itself(replica(0), milliseconds(10)))
      << "it waits for both, and neither waits for it";
}

TEST(WaitForGraph, WhoHasNotSaidItForLongWaitsNoMore) {
  WaitForGraph waits = graph({{2, 5}});
  EXPECT_TRUE(waits.waits_itself(replica(2), milliseconds(1999)));
  EXPECT_FALSE(waits.waits_itself(replica(2), milliseconds(2000)));
  waits.waits(replica(2), replica(5), milliseconds(1500));
  EXPECT_TRUE(waits.waits_itself(replica(2), milliseconds(2000)));
}

TEST(WaitForGraph, ANewViewBeginsAnew) {
  WaitForGraph waits = graph({{2, 5}});
  waits.clear();
  EXPECT_FALSE(waits.waits_itself(replica(2), milliseconds(1)));
}

}  // namespace
}  // namespace muster
