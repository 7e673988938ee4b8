#include <gtest/gtest.h>

#include "actors/rules/stragglers/wait_for_graph.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

NodeName replica(std::uint32_t slot) {
  return {false, slot};
}

WaitForGraph graph() {
  return WaitForGraph(milliseconds(300), milliseconds(2000));
}

TEST(WaitForGraph, SettlesWhenItIsSaidAgain) {
  WaitForGraph waits = graph();
  EXPECT_FALSE(waits.is_settled(replica(0), replica(1), milliseconds(1000)));
  waits.said(replica(0), replica(1), "link", true, milliseconds(1000));
  EXPECT_FALSE(waits.is_settled(replica(0), replica(1), milliseconds(1299)));
  waits.said(replica(0), replica(1), "link", true, milliseconds(1300));
  EXPECT_TRUE(waits.is_settled(replica(0), replica(1), milliseconds(1300)));
  EXPECT_FALSE(waits.is_settled(replica(1), replica(0), milliseconds(1300)));
}

TEST(WaitForGraph, AfterALongTimeItIsSaidForTheFirstTime) {
  WaitForGraph waits = graph();
  waits.said(replica(0), replica(1), "link", true, milliseconds(0));
  waits.said(replica(0), replica(1), "link", true, milliseconds(2000));
  EXPECT_FALSE(waits.is_settled(replica(0), replica(1), milliseconds(2000)));
}

TEST(WaitForGraph, WhoWaitsThroughOthersWaitsItself) {
  WaitForGraph waits = graph();
  for (const auto& [waiter, late] : {std::pair{0u, 2u}, {1u, 2u}, {2u, 4u}, {4u, 5u}})
    waits.said(replica(waiter), replica(late), "link", true, milliseconds(0));
  EXPECT_TRUE(waits.waits_itself(replica(2), milliseconds(10)));
  EXPECT_TRUE(waits.waits_itself(replica(4), milliseconds(10)));
  EXPECT_FALSE(waits.waits_itself(replica(5), milliseconds(10)));
  EXPECT_FALSE(waits.waits_itself(replica(3), milliseconds(10))) << "nobody has spoken of it";
}

TEST(WaitForGraph, TwoThatWaitForEachOtherHaveNobodyElseToBlame) {
  WaitForGraph waits = graph();
  for (const auto& [waiter, late] : {std::pair{0u, 1u}, {1u, 2u}, {2u, 1u}})
    waits.said(replica(waiter), replica(late), "link", true, milliseconds(0));
  EXPECT_FALSE(waits.waits_itself(replica(1), milliseconds(10)));
  EXPECT_FALSE(waits.waits_itself(replica(2), milliseconds(10)));
  EXPECT_TRUE(waits.waits_itself(replica(0), milliseconds(10)))
      << "it waits for both, and neither waits for it";
}

TEST(WaitForGraph, WhoHasNotSaidItForLongWaitsNoMore) {
  WaitForGraph waits = graph();
  waits.said(replica(2), replica(5), "link", true, milliseconds(0));
  EXPECT_TRUE(waits.waits_itself(replica(2), milliseconds(1999)));
  EXPECT_FALSE(waits.waits_itself(replica(2), milliseconds(2000)));
}

TEST(WaitForGraph, AnotherCauseBeginsAnew) {
  WaitForGraph waits = graph();
  waits.said(replica(0), replica(1), "compute", true, milliseconds(0));
  waits.said(replica(0), replica(1), "data", true, milliseconds(400));
  EXPECT_FALSE(waits.is_settled(replica(0), replica(1), milliseconds(400)));
  waits.said(replica(0), replica(1), "data", true, milliseconds(700));
  EXPECT_TRUE(waits.is_settled(replica(0), replica(1), milliseconds(700)));
}

TEST(WaitForGraph, WhoSaysThatAnotherTakesNothingDoesNotWaitForIt) {
  WaitForGraph waits = graph();
  waits.said(replica(2), replica(5), "link", false, milliseconds(0));
  EXPECT_TRUE(waits.is_settled(replica(2), replica(5), milliseconds(300)));
  EXPECT_FALSE(waits.waits_itself(replica(2), milliseconds(300)));
}

TEST(WaitForGraph, ANewViewBeginsAnew) {
  WaitForGraph waits = graph();
  waits.said(replica(2), replica(5), "link", true, milliseconds(0));
  waits.clear();
  EXPECT_FALSE(waits.waits_itself(replica(2), milliseconds(1)));
  EXPECT_FALSE(waits.is_settled(replica(2), replica(5), milliseconds(400)));
}

}  // namespace
}  // namespace muster
