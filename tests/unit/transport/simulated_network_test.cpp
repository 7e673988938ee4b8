#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/transport/transport_world.hpp"
#include "transport/simulated/network.hpp"

namespace {

using namespace muster;
using namespace std::chrono_literals;
using muster::testing::EventQueue;
using muster::testing::RecordingSink;
using muster::testing::WorldNode;

constexpr PeerId kA = 1;
constexpr PeerId kB = 2;

/// Two nodes and a queue; a trace of when what happened.
struct Pair {
  explicit Pair(std::uint64_t seed, SimulatedNetworkOptions options = {})
      : network(queue.handle(), seed, options) {
    for (WorldNode* node : {&a, &b}) {
      node->transport = network.attach(node == &a ? "a" : "b");
      node->transport->set_sink(&node->sink);
    }
    muster::testing::connect(a, kA, b, kB);
  }
  void run() {
    while (queue.step()) {
      trace << queue.now().count() << ':' << a.sink.calls << ',' << b.sink.calls << ' ';
    }
  }

  EventQueue queue;
  SimulatedNetwork network;
  WorldNode a;
  WorldNode b;
  std::ostringstream trace;
};

std::string trace_of(std::uint64_t seed) {
  Pair pair(seed);
  for (std::uint64_t message = 0; message < 50; ++message)
    pair.a.send(kB, kA, message, message % 3 == 0 ? 50000 : 100);
  pair.queue.after(150us, [&] { pair.network.cut("b"); });
  pair.run();
  return pair.trace.str();
}

TEST(SimulatedNetwork, OneSeedOneSequenceOfEvents) {
  EXPECT_EQ(trace_of(3), trace_of(3));
  EXPECT_NE(trace_of(3), trace_of(4));
}

TEST(SimulatedNetwork, FramesOvertakeEachOther) {
  Pair pair(5);
  std::vector<std::uint64_t> order;
  for (std::uint64_t message = 0; message < 30; ++message) pair.a.send(kB, kA, message, 10);
  std::size_t seen = 0;
  while (pair.queue.step()) {
    for (const auto& [from, message] : pair.b.sink.whole) {
      if (std::find(order.begin(), order.end(), message) == order.end()) order.push_back(message);
    }
    seen = pair.b.sink.whole.size();
  }
  EXPECT_EQ(seen, 30u);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
}

TEST(SimulatedNetwork, TimeHasBounds) {
  SimulatedNetworkOptions options;
  options.delay_min = 10us;
  options.delay_max = 10us;
  options.bandwidth = 1e9;
  Pair pair(1, options);
  pair.a.send(kB, kA, 1, 1000000);  // 1 ms on the wire, a hop before it, a hop after it
  pair.queue.after(1019us, [&] { EXPECT_TRUE(pair.b.sink.whole.empty()); });
  pair.queue.after(1021us, [&] { EXPECT_EQ(pair.b.sink.whole.size(), 1u); });
  pair.run();
}

TEST(SimulatedNetwork, ACutNodeIsSilentAndItsPeersLearnOfItOnce) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Pair pair(seed);
    for (std::uint64_t message = 0; message < 20; ++message) {
      pair.a.send(kB, kA, message, 20000);
      pair.b.send(kA, kB, 100 + message, 20000);
    }
    std::size_t calls_of_b = 0;
    pair.queue.after(120us, [&] {
      pair.network.cut("b");
      calls_of_b = pair.b.sink.calls;
    });
    pair.run();
    EXPECT_EQ(pair.b.sink.calls, calls_of_b);
    EXPECT_EQ(pair.a.sink.failures, std::vector<PeerId>{kB});
    EXPECT_EQ(pair.a.sink.tokens_back(), 20u);
    EXPECT_EQ(pair.a.sink.half_arrived(), 0u);
    const SimulatedCounts counts = pair.network.counts();
    EXPECT_EQ(counts.started, counts.arrived + counts.refused + counts.dropped + counts.lost);
  }
}

TEST(SimulatedNetwork, EveryEndOfAFrameIsSeen) {
  SimulatedCounts sum;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Pair pair(seed);
    for (std::uint64_t message = 0; message < 20; ++message) pair.a.send(kB, kA, message, 20000);
    pair.queue.after(100us, [&] { pair.b.sink.refuse_places = true; });
    pair.queue.after(140us, [&] { pair.a.transport->disconnect(kB); });
    pair.run();
    const SimulatedCounts counts = pair.network.counts();
    sum.arrived += counts.arrived;
    sum.refused += counts.refused;
    sum.dropped += counts.dropped;
    sum.lost += counts.lost;
  }
  EXPECT_GT(sum.arrived, 0u);
  EXPECT_GT(sum.refused, 0u);
  EXPECT_GT(sum.dropped, 0u);
  EXPECT_GT(sum.lost, 0u);
}

TEST(SimulatedNetwork, AnEvictedPeerIsTold) {
  Pair pair(9);
  pair.a.transport->disconnect(kB);
  pair.run();
  EXPECT_TRUE(pair.a.sink.failures.empty());
  EXPECT_EQ(pair.b.sink.failures, std::vector<PeerId>{kA});
}

TEST(SimulatedNetwork, ARestartedNodeIsReachedByItsNewAddressOnly) {
  Pair pair(2);
  const std::string old_address = pair.b.transport->address();
  pair.network.cut("b");
  pair.run();
  pair.a.transport->disconnect(kB);
  WorldNode again;
  again.transport = pair.network.attach("b");
  again.transport->set_sink(&again.sink);
  EXPECT_NE(again.transport->address(), old_address);
  pair.a.transport->connect(kB, old_address);
  pair.a.send(kB, kA, 1, 10);
  pair.run();
  EXPECT_EQ(pair.a.sink.failures.size(), 2u);
  EXPECT_TRUE(again.sink.whole.empty());
  pair.a.transport->disconnect(kB);
  pair.a.transport->connect(kB, again.transport->address());
  pair.a.send(kB, kA, 2, 10);
  pair.run();
  EXPECT_EQ(again.sink.whole.size(), 1u);
}

TEST(SimulatedNetwork, AConnectionThatOneSideMakesAnewIsNotTheOldOneOfTheOther) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Pair pair(seed);
    pair.run();
    pair.b.transport->disconnect(kA);
    pair.b.transport->connect(kA, pair.a.transport->address());
    pair.a.send(kB, kA, 1, 10);  // goes over the one that was cut
    pair.b.send(kA, kB, 2, 10);
    pair.run();
    EXPECT_EQ(pair.a.sink.failures, std::vector<PeerId>{kB});
    EXPECT_TRUE(pair.b.sink.failures.empty());
    EXPECT_EQ(pair.a.sink.whole.size(), 1u);
    pair.a.transport->disconnect(kB);
    pair.a.transport->connect(kB, pair.b.transport->address());
    pair.a.send(kB, kA, 3, 10);
    pair.b.send(kA, kB, 4, 10);
    pair.run();
    EXPECT_TRUE(pair.b.sink.failures.empty());
    EXPECT_EQ(pair.a.sink.whole.size(), 2u);
    EXPECT_TRUE(pair.b.sink.whole.count({kA, 3}));
  }
}

TEST(SimulatedNetwork, AConnectionThatTheOtherSideHasEndedAlreadyFails) {
  Pair pair(3);
  pair.a.transport->disconnect(kB);
  pair.a.transport->connect(kB, pair.b.transport->address());
  pair.a.transport->disconnect(kB);
  pair.run();
  pair.b.transport->disconnect(kA);
  pair.b.transport->connect(kA, pair.a.transport->address());  // its second: ended before it was made
  pair.run();
  EXPECT_EQ(pair.b.sink.failures, (std::vector<PeerId>{kA, kA}));
}

Disturbance blocked() {
  return {.blocked = true};
}

/// A hundred small and ten large messages each way.
void send_many(Pair& pair) {
  for (std::uint64_t message = 0; message < 110; ++message) {
    const std::size_t bytes = message % 11 == 0 ? 20000 : 100;
    pair.a.send(kB, kA, message, bytes);
    pair.b.send(kA, kB, 1000 + message, bytes);
  }
}

void expect_all_arrived(const Pair& pair) {
  for (const WorldNode* node : {&pair.a, &pair.b}) {
    EXPECT_EQ(node->sink.whole.size(), 110u);
    EXPECT_EQ(node->sink.sent_ok, 110u);
    EXPECT_EQ(node->sink.half_arrived(), 0u);
    EXPECT_TRUE(node->sink.failures.empty());
  }
}

TEST(Disturbances, ABlockedPathHoldsEverythingAndHealsInTime) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Pair pair(seed);
    pair.queue.after(0us, [&] { send_many(pair); });
    std::size_t got = 0;
    pair.queue.after(50us, [&] {
      pair.network.disturb("a", "b", blocked());
      pair.network.disturb("b", "a", blocked());
      got = pair.a.sink.whole.size() + pair.b.sink.whole.size();
    });
    pair.queue.after(10s, [&] {
      EXPECT_EQ(pair.a.sink.whole.size() + pair.b.sink.whole.size(), got);
      pair.network.disturb("a", "b", {});
      pair.network.disturb("b", "a", {});
    });
    pair.run();
    EXPECT_LT(got, 220u);
    expect_all_arrived(pair);
  }
}

TEST(Disturbances, ABlockedPathEndsTheConnectionOfBothInTheEnd) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Pair pair(seed);
    pair.network.disturb("a", "b", blocked());
    pair.network.disturb("b", "a", blocked());
    send_many(pair);
    pair.queue.after(14s, [&] { EXPECT_TRUE(pair.a.sink.failures.empty() && pair.b.sink.failures.empty()); });
    pair.run();
    EXPECT_EQ(pair.a.sink.failures, std::vector<PeerId>{kB});
    EXPECT_EQ(pair.b.sink.failures, std::vector<PeerId>{kA});
    EXPECT_TRUE(pair.a.sink.whole.empty() && pair.b.sink.whole.empty());
    EXPECT_EQ(pair.a.sink.tokens_back(), 110u);
    EXPECT_LE(pair.queue.now(), 62s);
  }
}

TEST(Disturbances, OneWayOnlyHoldsItsDirectionAndWhatNeedsAnAnswer) {
  Pair pair(4);
  pair.network.disturb("a", "b", blocked());
  send_many(pair);
  pair.queue.after(5s, [&] {
    EXPECT_TRUE(pair.b.sink.whole.empty());
    EXPECT_EQ(pair.a.sink.whole.size(), 100u);  // first packets need no answer
    EXPECT_EQ(pair.a.sink.half_arrived(), 0u);  // not even the request of a large one came
    pair.b.send(kA, kB, 5000, 8000);
  });
  pair.queue.after(6s, [&] { pair.network.disturb("a", "b", {}); });
  pair.run();
  EXPECT_EQ(pair.b.sink.whole.size(), 110u);
  EXPECT_EQ(pair.a.sink.whole.size(), 111u);
}

TEST(Disturbances, WithoutAnswersOnlyAWindowGetsThrough) {
  SimulatedNetworkOptions options;
  options.window_bytes = 1000;
  Pair pair(4, options);
  pair.network.disturb("a", "b", blocked());
  for (std::uint64_t message = 0; message < 50; ++message) pair.b.send(kA, kB, message, 100);
  pair.queue.after(5s, [&] {
    EXPECT_EQ(pair.a.sink.whole.size(), 10u);
    pair.network.disturb("a", "b", {});
  });
  pair.run();
  EXPECT_EQ(pair.a.sink.whole.size(), 50u);
}

TEST(Disturbances, AClogIsSlowInItsDirection) {
  SimulatedNetworkOptions options;
  options.delay_min = options.delay_max = 100us;
  Pair pair(1, options);
  pair.network.disturb("a", "b", {.slower = 100});
  pair.a.send(kB, kA, 1, 10);
  pair.b.send(kA, kB, 2, 10);
  pair.queue.after(1ms, [&] { EXPECT_EQ(pair.a.sink.whole.size(), 1u); });
  pair.queue.after(9ms, [&] { EXPECT_TRUE(pair.b.sink.whole.empty()); });
  pair.queue.after(11ms, [&] { EXPECT_EQ(pair.b.sink.whole.size(), 1u); });
  pair.run();
}

TEST(Disturbances, LostPacketsAreSentAgain) {
  Pair pair(8);
  pair.network.disturb("a", "b", {.loss = 0.5});
  send_many(pair);
  std::size_t soon = 0;
  pair.queue.after(1ms, [&] { soon = pair.b.sink.whole.size(); });
  pair.run();
  EXPECT_GT(soon, 20u);
  EXPECT_LT(soon, 90u);
  expect_all_arrived(pair);
}

TEST(Disturbances, APausedNodeStandsStillAndThenGetsEverything) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Pair pair(seed);
    pair.queue.after(0us, [&] { send_many(pair); });
    std::size_t calls = 0;
    pair.queue.after(60us, [&] {
      pair.network.pause("b");
      calls = pair.b.sink.calls;
    });
    pair.queue.after(40s, [&] {
      EXPECT_EQ(pair.b.sink.calls, calls);
      EXPECT_EQ(pair.a.sink.failures, std::vector<PeerId>{}) << "a stopped process is not noticed";
      pair.network.resume("b");
    });
    pair.run();
    expect_all_arrived(pair);
  }
}

TEST(Disturbances, APausedNodeThatIsKilledHoldsNothingBack) {
  Pair pair(3);
  pair.queue.after(0us, [&] { send_many(pair); });
  pair.queue.after(60us, [&] { pair.network.pause("b"); });
  pair.queue.after(1s, [&] { pair.network.cut("b"); });
  pair.run();
  EXPECT_EQ(pair.a.sink.failures, std::vector<PeerId>{kB});
  EXPECT_EQ(pair.a.sink.tokens_back(), 110u);
  EXPECT_EQ(pair.a.sink.half_arrived(), 0u);
  const SimulatedCounts counts = pair.network.counts();
  EXPECT_EQ(counts.started, counts.arrived + counts.refused + counts.dropped + counts.lost);
}

TEST(Disturbances, AZombieLearnsOfItsEvictionWhenItWakes) {
  Pair pair(6);
  pair.network.pause("b");
  pair.queue.after(1s, [&] { pair.a.transport->disconnect(kB); });
  pair.queue.after(5s, [&] {
    EXPECT_TRUE(pair.b.sink.failures.empty());
    pair.network.resume("b");
  });
  pair.run();
  EXPECT_EQ(pair.b.sink.failures, std::vector<PeerId>{kA});
}

TEST(Disturbances, ALostMachineSaysNothing) {
  Pair pair(2);
  pair.network.lose("b");
  send_many(pair);
  pair.queue.after(14s, [&] { EXPECT_TRUE(pair.a.sink.failures.empty()); });
  pair.run();
  EXPECT_EQ(pair.a.sink.failures, std::vector<PeerId>{kB});
  EXPECT_EQ(pair.b.sink.calls, 0u);
}

TEST(Disturbances, ABrokenConnectionIsToldToBothOfTwoThatLive) {
  Pair pair(2);
  send_many(pair);
  pair.queue.after(100us, [&] { pair.network.sever("a", "b"); });
  pair.run();
  EXPECT_EQ(pair.a.sink.failures, std::vector<PeerId>{kB});
  EXPECT_EQ(pair.b.sink.failures, std::vector<PeerId>{kA});
  EXPECT_EQ(pair.a.sink.half_arrived() + pair.b.sink.half_arrived(), 0u);
}

}  // namespace
