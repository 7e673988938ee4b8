// The contract of transport.hpp, held against every transport that stands behind it.
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "muster/error.hpp"
#include "tests/unit/transport/transport_world.hpp"

namespace muster::transport_conformance_test {
namespace {

using namespace muster;
using muster::testing::connect;
using muster::testing::frame_of;
using muster::testing::pattern;
using muster::testing::World;
using muster::testing::WorldNode;

constexpr PeerId kA = 10;
constexpr PeerId kB = 20;
constexpr PeerId kC = 30;
constexpr std::size_t kMiB = 1 << 20;

class TransportContract : public ::testing::TestWithParam<std::string> {
 protected:
  TransportContract() {
    if (GetParam() == "simulated") {
      world_ = muster::testing::make_simulated_world(7);
    } else {
      world_ = muster::testing::make_real_world(muster::testing::real_transport(GetParam()));
    }
  }

  World& world() { return *world_; }

 private:
  std::unique_ptr<World> world_;
};

INSTANTIATE_TEST_SUITE_P(Transports, TransportContract,
                         ::testing::Values("ucx", "ucx_tcp", "ucx_gpus", "tcp", "shared_memory", "node",
                                           "simulated"),
                         [](const auto& information) { return information.param; });

TEST_P(TransportContract, PayloadsOfAllSizesArriveWhole) {
  WorldNode& a = world().add("a");
  WorldNode& b = world().add("b");
  connect(a, kA, b, kB);
  const std::vector<std::size_t> sizes{0, 1, 63, 8 << 10, (8 << 10) + 1, 100000, kMiB, 64 * kMiB};
  for (std::size_t message = 0; message < sizes.size(); ++message) a.send(kB, kA, message, sizes[message]);
  EXPECT_TRUE(world().until(
      [&] { return b.sink.whole.size() == sizes.size() && a.sink.tokens_back() == sizes.size(); }));
  EXPECT_EQ(a.sink.sent_ok, sizes.size());
  EXPECT_EQ(b.sink.half_arrived(), 0u);
  EXPECT_TRUE(a.sink.failures.empty() && b.sink.failures.empty() && b.sink.refusals.empty());
}

TEST_P(TransportContract, WhatIsSentIsCountedWhereItIsKnownWhereItGoes) {
  WorldNode& a = world().add("a");
  WorldNode& b = world().add("b");
  a.send(kB, kA, 0, 7);  // to nobody
  connect(a, kA, b, kB);
  std::deque<std::vector<std::byte>> payloads;
  const auto send = [&](FrameKind kind, std::size_t count, SendToken token) {
    Frame frame = frame_of(kA, token, count);
    frame.kind = kind;
    a.transport->send(kB, frame, payloads.emplace_back(pattern(token, count)), token);
  };
  send(FrameKind::contribution, 1000, 1);
  send(FrameKind::result, 200, 2);
  send(FrameKind::header, 30, 3);
  send(FrameKind::metrics, 4, 4);
  send(FrameKind::ping, 0, 5);
  send(FrameKind::state, 500, 6);
  const Sent all{6, 1200, 34, 500};
  Traffic expected;
  if (GetParam() == "node") expected.within_host = all;
  if (GetParam() == "simulated") expected.between_hosts = all;
  EXPECT_EQ(a.transport->traffic(), expected);
  EXPECT_EQ(b.transport->traffic(), Traffic{});
  a.transport->disconnect(kB);
  EXPECT_EQ(a.transport->traffic(), expected);
  EXPECT_TRUE(world().until([&] { return a.sink.tokens_back() == 7; }));
}

TEST_P(TransportContract, ManyInFlightAmongThree) {
  WorldNode* nodes[] = {&world().add("a"), &world().add("b"), &world().add("c")};
  const PeerId numbers[] = {kA, kB, kC};
  for (int i = 0; i < 3; ++i) {
    for (int k = i + 1; k < 3; ++k) connect(*nodes[i], numbers[i], *nodes[k], numbers[k]);
  }
  constexpr std::size_t kMessages = 60;
  const std::size_t sizes[] = {64, 5000, 20000, 300000};
  for (std::size_t message = 0; message < kMessages; ++message) {
    for (int i = 0; i < 3; ++i) {
      for (int k = 0; k < 3; ++k) {
        if (i != k)
          nodes[i]->send(numbers[k], numbers[i], message * 3 + static_cast<std::size_t>(k),
                         sizes[message % 4]);
      }
    }
  }
  EXPECT_TRUE(world().until([&] {
    for (const WorldNode* node : nodes) {
      if (node->sink.whole.size() < 2 * kMessages || node->sink.tokens_back() < 2 * kMessages) return false;
    }
    return true;
  }));
  for (const WorldNode* node : nodes) EXPECT_EQ(node->sink.sent_ok, 2 * kMessages);
}

TEST_P(TransportContract, ARefusedPlaceThrowsThePayloadAway) {
  WorldNode& a = world().add("a");
  WorldNode& b = world().add("b");
  connect(a, kA, b, kB);
  b.sink.refuse_places = true;
  a.send(kB, kA, 1, 100);
  a.send(kB, kA, 2, kMiB);
  EXPECT_TRUE(world().until([&] { return b.sink.places_refused == 2 && a.sink.tokens_back() == 2; }));
  b.sink.refuse_places = false;
  a.send(kB, kA, 3, kMiB);
  EXPECT_TRUE(world().until([&] { return b.sink.whole.size() == 1 && a.sink.tokens_back() == 3; }));
  EXPECT_EQ(b.sink.whole.count({kA, 3}), 1u);
}

TEST_P(TransportContract, ASendToNobodyFailsAtOnce) {
  WorldNode& a = world().add("a");
  WorldNode& b = world().add("b");
  a.send(kB, kA, 1, 10);
  EXPECT_EQ(a.sink.sent_failed, 1u);
  connect(a, kA, b, kB);
  a.transport->disconnect(kB);
  a.send(kB, kA, 2, 10);
  EXPECT_EQ(a.sink.sent_failed, 2u);
  a.transport->disconnect(kB);  // nothing to cut
  world().settle();
  EXPECT_EQ(a.sink.tokens_back(), 2u);
  EXPECT_TRUE(a.sink.failures.empty());
}

TEST_P(TransportContract, DisconnectBringsEveryTokenBackOnce) {
  WorldNode& a = world().add("a");
  WorldNode& b = world().add("b");
  connect(a, kA, b, kB);
  a.send(kB, kA, 1, 10);
  ASSERT_TRUE(world().until([&] { return b.sink.whole.size() == 1; }));
  constexpr std::size_t kMessages = 40;
  for (std::size_t message = 2; message <= kMessages; ++message) {
    a.send(kB, kA, message, message % 2 == 0 ? 3 * kMiB : 4000);
  }
  ASSERT_TRUE(world().until([&] { return b.sink.whole.size() >= 3; }));
  const std::size_t calls = a.sink.calls;
  a.transport->disconnect(kB);
  EXPECT_EQ(a.sink.calls, calls) << "disconnect called the sink";
  EXPECT_TRUE(world().until([&] { return a.sink.tokens_back() == kMessages; }));
  EXPECT_GT(a.sink.sent_failed, 0u);
  b.transport->disconnect(kA);
  EXPECT_TRUE(world().until([&] { return b.sink.half_arrived() == 0; })) << b.sink.half_arrived();
  world().settle();
  EXPECT_EQ(a.sink.tokens_back(), kMessages);
  EXPECT_TRUE(a.sink.failures.empty());
  EXPECT_LE(b.sink.failures.size(), 1u);
}

TEST_P(TransportContract, BothMayCutAtOnceUnderFullTraffic) {
  for (int time = 0; time < 10; ++time) {
    WorldNode& a = world().add("a" + std::to_string(time));
    WorldNode& b = world().add("b" + std::to_string(time));
    connect(a, kA, b, kB);
    constexpr std::size_t kMessages = 6;
    for (std::size_t message = 0; message < kMessages; ++message) {
      a.send(kB, kA, message, kMiB);
      b.send(kA, kB, message, message % 2 == 0 ? kMiB : 4000);
    }
    ASSERT_TRUE(world().until([&] { return a.sink.half_arrived() + b.sink.half_arrived() >= 2; }));
    a.transport->disconnect(kB);
    a.transport->progress();
    b.transport->disconnect(kA);
    EXPECT_TRUE(world().until([&] {
      return a.sink.tokens_back() + b.sink.tokens_back() == 2 * kMessages &&
             a.sink.half_arrived() + b.sink.half_arrived() == 0;
    }));
    world().settle();
    EXPECT_TRUE(a.sink.failures.empty() && b.sink.failures.empty());
    a.transport.reset();
    b.transport.reset();
  }
}

TEST_P(TransportContract, AReceiverThatDisconnectsGetsItsPlacesBack) {
  WorldNode& a = world().add("a");
  WorldNode& b = world().add("b");
  connect(a, kA, b, kB);
  constexpr std::size_t kMessages = 4;
  for (std::size_t message = 0; message < kMessages; ++message) a.send(kB, kA, message, 16 * kMiB);
  ASSERT_TRUE(world().until([&] { return b.sink.half_arrived() >= 1; }));
  b.transport->disconnect(kA);
  EXPECT_TRUE(world().until([&] { return b.sink.half_arrived() == 0; })) << b.sink.half_arrived();
  EXPECT_GT(b.sink.drops, 0u);
  a.transport->disconnect(kB);
  EXPECT_TRUE(world().until([&] { return a.sink.tokens_back() == kMessages; })) << a.sink.tokens_back();
  world().settle();
  EXPECT_EQ(b.sink.half_arrived(), 0u);
  EXPECT_EQ(a.sink.tokens_back(), kMessages);
  EXPECT_TRUE(b.sink.failures.empty());
}

TEST_P(TransportContract, APeerThatIsGoneHoldsNothingBack) {
  WorldNode& a = world().add("a");
  WorldNode& b = world().add("b");
  WorldNode& c = world().add("c");
  connect(a, kA, b, kB);
  connect(a, kA, c, kC);
  a.send(kB, kA, 0, 100);
  ASSERT_TRUE(world().until([&] { return b.sink.whole.size() == 1; }));
  b.transport.reset();
  constexpr std::size_t kMessages = 20;
  for (std::size_t message = 1; message < kMessages; ++message) a.send(kB, kA, message, kMiB);
  world().settle();
  a.transport->disconnect(kB);
  EXPECT_TRUE(world().until([&] { return a.sink.tokens_back() == kMessages; })) << a.sink.tokens_back();
  EXPECT_LE(a.sink.failures.size(), 1u);
  a.send(kC, kA, 100, kMiB);  // the other connection stands
  EXPECT_TRUE(world().until([&] { return c.sink.whole.size() == 1; }));
}

TEST_P(TransportContract, ANumberCanBeConnectedAgain) {
  WorldNode& a = world().add("a");
  WorldNode& b = world().add("b");
  WorldNode& c = world().add("c");
  connect(a, kA, b, kB);
  a.send(kB, kA, 0, kMiB);
  ASSERT_TRUE(world().until([&] { return b.sink.whole.size() == 1; }));
  a.transport->disconnect(kB);
  b.transport->disconnect(kA);
  connect(a, kA, c, kB);
  a.send(kB, kA, 1, kMiB);
  EXPECT_TRUE(world().until([&] { return c.sink.whole.size() == 1; }));
  world().settle();
  EXPECT_TRUE(a.sink.failures.empty());
  EXPECT_EQ(b.sink.whole.size(), 1u);
}

TEST_P(TransportContract, AnAddressOfNoUseIsAnError) {
  WorldNode& a = world().add("a");
  std::string damaged = world().add("b").transport->address();
  damaged.back() = static_cast<char>(damaged.back() + 1);
  EXPECT_THROW(a.transport->connect(kB, ""), Error);
  EXPECT_THROW(a.transport->connect(kB, "nobody has this address, but it is long enough to look like one"),
               Error);
  EXPECT_THROW(a.transport->connect(kB, damaged), Error);
  EXPECT_THROW(a.transport->connect(kB, a.transport->address()), Error);
  a.send(kB, kA, 1, 10);
  EXPECT_EQ(a.sink.sent_failed, 1u);
}

}  // namespace
}  // namespace muster::transport_conformance_test
