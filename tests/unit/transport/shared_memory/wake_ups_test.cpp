#include "transport/shared_memory/wake_ups.hpp"

#include <gtest/gtest.h>

#include "tests/unit/transport/shared_memory/two_sides.hpp"

namespace {

using namespace muster;
using namespace muster::shm;

// A wakes B up, or not.
class ShmWakeUps : public muster::testing::TwoSides {
 protected:
  void connect_both() {
    pair(a_.in, *a_.out);
    pair(b_.in, *b_.out);
  }
  bool wakes(News news) {
    of_a_.notify(*a_.out, news);
    of_a_.poke_all(peers_of_a_);
    return was_poked(b_.in);
  }

  WakeUps of_a_, of_b_;
  WakeUps::Peers peers_of_a_{{2, a_.out}}, peers_of_b_{{1, b_.out}};
};

TEST_F(ShmWakeUps, OnlyWhoRestsIsWokenOnceForEachWord) {
  connect_both();
  EXPECT_FALSE(wakes(News::frames)) << "it polls";
  of_b_.rest(peers_of_b_, true);
  EXPECT_TRUE(of_b_.resting());
  EXPECT_TRUE(wakes(News::frames));
  EXPECT_FALSE(wakes(News::frames)) << "it was woken, and will look at everything";
  of_b_.rest(peers_of_b_, false);
  EXPECT_FALSE(of_b_.resting());
  EXPECT_FALSE(wakes(News::frames));
  of_b_.rest(peers_of_b_, true);
  EXPECT_TRUE(wakes(News::frames)) << "a new word";
}

TEST_F(ShmWakeUps, RoomWakesOnlyWhoWaitsForIt) {
  connect_both();
  of_b_.rest(peers_of_b_, true);
  EXPECT_FALSE(wakes(News::room));
  EXPECT_TRUE(wakes(News::frames));
  b_.out->queue.push_back({});  // B has something to write
  of_b_.rest(peers_of_b_, true);
  EXPECT_TRUE(wakes(News::room));
  b_.out->queue.clear();
  b_.out->borrowed.push_back({});  // or waits for a buffer
  of_b_.rest(peers_of_b_, true);
  EXPECT_TRUE(wakes(News::room));
}

TEST_F(ShmWakeUps, WhatIsNewsForRoomStaysNewsForFrames) {
  connect_both();
  of_b_.rest(peers_of_b_, true);
  of_a_.notify(*a_.out, News::frames);
  EXPECT_TRUE(wakes(News::room));
}

TEST_F(ShmWakeUps, WithoutNewsNobodyIsWoken) {
  connect_both();
  of_b_.rest(peers_of_b_, true);
  of_a_.poke_all(peers_of_a_);
  EXPECT_FALSE(was_poked(b_.in));
}

TEST_F(ShmWakeUps, WhoHasNotConnectedIsWokenByEachFrame) {
  EXPECT_FALSE(wakes(News::room));
  EXPECT_TRUE(wakes(News::frames));
  EXPECT_TRUE(wakes(News::frames)) << "it cannot say that it rests";
  a_.out->socket = Descriptor();  // it is too busy to be dialed
  EXPECT_FALSE(wakes(News::frames));
}

}  // namespace
