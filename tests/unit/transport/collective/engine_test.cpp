// Micro-batches and demands over the engine, between a replica and a loader.
#include <gtest/gtest.h>

#include "tests/unit/transport/transport_world.hpp"
#include "transport/collective/engine.hpp"
#include "transport/frames/raw_words.hpp"

namespace {

using namespace muster;
using muster::testing::EventQueue;
using muster::testing::pattern;

constexpr PeerId kReplica = 0;
constexpr PeerId kLoader = 1;
constexpr std::size_t kBytesMax = 20000;

struct Side {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Engine> engine;
  std::vector<std::pair<Frame, std::vector<std::byte>>> batches;
  std::vector<Frame> demands;
  std::vector<std::string> refusals;
  std::vector<PeerId> failed;
  std::vector<LoadingSight> sights;
};

struct Pair {
  Pair() : network(queue.handle(), 9) {
    for (Side* side : {&replica, &loader}) {
      side->transport = network.attach(side == &replica ? "replica" : "loader");
      Engine::Hooks hooks;
      hooks.round_done = [](std::shared_ptr<const RoundRecord>) {};
      hooks.reduction_failed = [](const std::string&) {};
      hooks.closed = [](std::uint32_t, bool, bool) {};
      hooks.transferred = [](const Frame&, std::vector<std::byte>) {};
      hooks.batch = [side](const Frame& frame, std::vector<std::byte> payload) {
        side->batches.emplace_back(frame, std::move(payload));
      };
      hooks.demand = [side](const Frame& frame) { side->demands.push_back(frame); };
      hooks.peer_failed = [side](std::uint32_t, PeerId peer, const std::string&) {
        side->failed.push_back(peer);
      };
      hooks.refused = [side](const std::string& reason) { side->refusals.push_back(reason); };
      hooks.starved = [side](LoadingSight sight) { side->sights.push_back(std::move(sight)); };
      hooks.progress = [] { return ProgressStatus{Activity::loading, 0, 1}; };
      side->engine = std::make_unique<Engine>(*side->transport, std::move(hooks));
    }
  }
  ~Pair() {
    replica.transport.reset();
    loader.transport.reset();
  }
  void install(std::uint32_t view = 1, std::uint32_t since = 1) {
    const std::vector<Engine::Peer> peers{{kReplica, 10, replica.transport->address(), since},
                                          {kLoader, 11, loader.transport->address(), since}};
    replica.engine->install(view, kReplica, 10, peers, nullptr, {kBytesMax, 0, 0});
    loader.engine->install(view, kLoader, 11, peers, nullptr, {kBytesMax, 0, 0});
  }
  void install_alone(std::uint32_t view) {
    replica.engine->install(view, kReplica, 10, {}, nullptr, {kBytesMax, 0, 0});
  }
  void run() {
    while (queue.step()) {
    }
  }

  EventQueue queue;
  SimulatedNetwork network;
  Side replica, loader;
};

Frame batch_frame(std::uint32_t shard, std::uint64_t ticket) {
  return frame_with(BatchBody{shard, ticket});
}

TEST(Engine, BatchesAndDemandsArriveWhole) {
  Pair pair;
  pair.install();
  for (std::uint64_t ticket = 1; ticket <= 50; ++ticket) {
    pair.replica.engine->send_loading(kLoader, frame_with(DemandBody{3, ticket, 7, 0, 0}), {});
    pair.loader.engine->send_loading(kReplica, batch_frame(3, ticket), pattern(ticket, 100 + ticket * 300));
  }
  EXPECT_EQ(pair.loader.engine->batches_in_flight(), 50u);
  pair.run();
  EXPECT_EQ(pair.loader.engine->batches_in_flight(), 0u);
  EXPECT_EQ(pair.replica.engine->batches_in_flight(), 0u);
  EXPECT_EQ(pair.loader.demands.size(), 50u);
  ASSERT_EQ(pair.replica.batches.size(), 50u);
  for (const auto& [frame, payload] : pair.replica.batches) {
    const auto [shard, ticket] = BatchBody::from(frame);
    EXPECT_EQ(payload, pattern(ticket, 100 + ticket * 300)) << ticket;
    EXPECT_EQ(shard, 3u);
    EXPECT_EQ(frame.from, kLoader);
  }
}

// A newcomer observed view 1, heard nothing of view 2, in which it was no member, and is one from view 3 on.
TEST(Engine, AConnectionThatThePeerLetGoOfInAViewBetweenIsMadeAnew) {
  Pair pair;
  pair.install(1, 0);
  pair.run();
  pair.install_alone(2);
  pair.install(3, 3);  // the cut has not been noticed yet
  pair.loader.engine->send_loading(kReplica, batch_frame(0, 1), pattern(1, 100));
  pair.replica.engine->send_loading(kLoader, batch_frame(0, 2), pattern(2, 100));
  pair.run();
  EXPECT_EQ(pair.replica.batches.size(), 1u);
  EXPECT_EQ(pair.loader.batches.size(), 1u);
  EXPECT_TRUE(pair.loader.failed.empty());
}

// Who was not told of view 2, in which both were members, has the connection that the other one has.
// The cut was this side's own: the connection that was made since is whole.
TEST(Engine, WhatAnOlderConnectionDidNotSendIsNobodysFailure) {
  Pair pair;
  pair.install(1, 0);
  pair.run();
  pair.loader.engine->send_loading(kReplica, batch_frame(0, 1),
                                   pattern(1, kBytesMax));  // and it is on its way
  pair.install_alone(2);
  pair.install(3, 3);
  pair.loader.engine->send_loading(kReplica, batch_frame(0, 2), pattern(2, 100));
  pair.run();
  EXPECT_EQ(pair.replica.batches.size(), 1u);
  EXPECT_TRUE(pair.loader.failed.empty());
  EXPECT_EQ(pair.loader.engine->batches_in_flight(), 0u);
}

// However far it had come.
TEST(Engine, WhatAnOlderConnectionDidNotBringIsNobodysFailure) {
  for (int steps = 0; steps < 30; ++steps) {
    Pair pair;
    pair.install(1, 0);
    pair.run();
    pair.loader.engine->send_loading(kReplica, batch_frame(0, 1), pattern(1, kBytesMax));
    for (int i = 0; i < steps; ++i) pair.queue.step();
    pair.install_alone(2);
    pair.install(3, 3);
    pair.run();
    EXPECT_TRUE(pair.replica.failed.empty()) << steps;
  }
}

TEST(Engine, AConnectionBetweenMembersOutlastsAViewThatOneWasNotToldOf) {
  Pair pair;
  pair.install();
  pair.replica.engine->install(2, kReplica, 10, {{kLoader, 11, pair.loader.transport->address(), 1}}, nullptr,
                               {kBytesMax, 0, 0});
  pair.install(3, 1);
  pair.loader.engine->send_loading(kReplica, batch_frame(0, 1), pattern(1, 100));
  pair.run();
  EXPECT_EQ(pair.replica.batches.size(), 1u);
  EXPECT_TRUE(pair.replica.failed.empty());
}

TEST(Engine, BatchBeyondTheAgreedSizeIsRefusedAloud) {
  Pair pair;
  pair.install();
  pair.loader.engine->send_loading(kReplica, batch_frame(0, 1), pattern(1, kBytesMax + 1));
  pair.loader.engine->send_loading(kReplica, batch_frame(0, 2), pattern(2, kBytesMax));
  pair.run();
  ASSERT_EQ(pair.replica.batches.size(), 1u);
  EXPECT_EQ(BatchBody::from(pair.replica.batches[0].first).ticket, 2u);
  ASSERT_EQ(pair.replica.refusals.size(), 1u);
  EXPECT_NE(pair.replica.refusals[0].find(std::to_string(kBytesMax + 1)), std::string::npos);
  EXPECT_EQ(pair.loader.engine->batches_in_flight(), 0u);
}

TEST(Engine, ALoaderThatDoesNotAnswerIsSeenAndAskedAgainOnce) {
  Pair pair;
  pair.install();
  pair.replica.engine->send_loading(kLoader, frame_with(DemandBody{3, 8, 1, 0, 0}), {});
  for (int tick = 0; tick < 3; ++tick) {
    pair.replica.engine->tick();
    pair.run();
  }
  ASSERT_EQ(pair.replica.sights.size(), 2u) << "not at the first tick of a wait";
  EXPECT_EQ(pair.replica.sights[1].loader.peer, kLoader);
  EXPECT_EQ(pair.replica.sights[1].unanswered, 1u);
  EXPECT_EQ(pair.replica.sights[1].owes, 1u) << "the loader has the demand";
  EXPECT_FALSE(pair.replica.sights[1].loader.unanswered_since) << "and answers pings";
  pair.replica.engine->ask_again(kLoader);
  pair.run();
  EXPECT_EQ(pair.loader.demands.size(), 1u) << "it is owed already";
  pair.loader.engine->send_loading(kReplica, batch_frame(3, 8), pattern(1, 100));
  pair.run();
  EXPECT_EQ(pair.replica.batches.size(), 1u);
  pair.replica.engine->tick();
  pair.run();
  EXPECT_EQ(pair.replica.sights.size(), 2u) << "nothing is waited for";
}

TEST(Engine, LoaderThatVanishesIsNoticed) {
  Pair pair;
  pair.install();
  pair.loader.engine->send_loading(kReplica, batch_frame(0, 1), pattern(1, kBytesMax));
  pair.network.cut("loader");
  pair.run();
  EXPECT_EQ(pair.replica.failed, std::vector<PeerId>{kLoader});
}

TEST(Engine, FloodOfEarlyHeadersIsBounded) {
  Pair pair;
  const std::vector<std::byte> payload(4096);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < Engine::kEarlyFramesMax + 100; ++i) {
    Frame frame;
    frame.view = 9;
    frame.bytes = payload.size();
    const auto place = pair.replica.engine->place(frame);
    kept += place.size();
    if (!place.empty()) pair.replica.engine->arrived(frame, place);
  }
  EXPECT_LE(kept, Engine::kEarlyBytesMax);
  EXPECT_GT(kept, 0u);
}

// Flooded by its own view's members, it is said aloud: the one that is not greeted is then known to be late.
TEST(Engine, EarlyHeadersThatCannotBeKeptAreRefusedAloudOnce) {
  Pair pair;
  for (const std::uint32_t view : {9u, 10u}) {
    Frame frame;
    frame.view = view;
    frame.bytes = Engine::kEarlyBytesMax;
    if (view == 9) {
      EXPECT_FALSE(pair.replica.engine->place(frame).empty());
    }
    frame.bytes = 64;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(pair.replica.engine->place(frame).empty());
  }
  ASSERT_EQ(pair.replica.refusals.size(), 2u);
  EXPECT_NE(pair.replica.refusals[1].find("view 10"), std::string::npos);
}

TEST(Engine, EveryReplicaOfALargeViewMayGreetEarly) {
  Pair pair;
  for (PeerId from = 0; from < 65536; ++from) {
    Frame frame;
    frame.view = 9;
    frame.from = from;
    frame.bytes = encoded_header_bytes(0);
    ASSERT_FALSE(pair.replica.engine->place(frame).empty()) << from;
  }
  EXPECT_TRUE(pair.replica.refusals.empty());
}

// In a pause it may be given the state by one donor after the other, in one view.
TEST(Engine, AFormerMemberMayBeFedTwiceInOneView) {
  Pair pair;
  ReductionShape shape;
  shape.view = 1;
  shape.shards = 1;
  shape.elements = 8;
  shape.members.push_back({kReplica, 10, 0, 1});
  pair.replica.engine->install(1, kReplica, 10, {}, &shape, {kBytesMax, 0, 0});
  pair.replica.engine->close(1, {});
  pair.run();
  pair.install_alone(2);
  pair.install_alone(2);
  EXPECT_EQ(pair.replica.engine->reduction(), nullptr);
}

// The type of a body is read of a frame of its kind alone: whatever a member says, the process goes on.
TEST(Engine, NoFrameOfAMemberEndsTheProcess) {
  Pair pair;
  pair.install();
  muster::testing::RecordingSink sink;
  const auto ghost = pair.network.attach("ghost");
  ghost->set_sink(&sink);
  ghost->connect(kReplica, pair.replica.transport->address());
  const std::vector<std::byte> garbage(64, std::byte{0x7f});
  const RawWords odd{~std::uint64_t{0}, ~std::uint32_t{0}, ~std::uint32_t{0}, ~std::uint64_t{0}};
  SendToken token = 0;
  for (std::uint16_t kind = 0; kind <= 20; ++kind) {
    for (const RawWords& words : {RawWords{}, RawWords{1, 1, 1, 1}, RawWords{0, 2, 3, 64}, odd}) {
      for (const std::uint32_t bytes : {0u, 64u}) {
        Frame frame;
        frame.kind = static_cast<FrameKind>(kind);
        frame.from = kLoader;
        frame.view = 1;
        frame.incarnation = 11;
        frame.round = 1;
        words.put_into(frame);
        frame.bytes = bytes;
        ghost->send(kReplica, frame, std::span(garbage).first(bytes), token++);
      }
    }
  }
  pair.run();
  const std::size_t before = pair.replica.batches.size();
  EXPECT_GT(before, 0u) << "frames of the ghost do arrive as the loader's";
  pair.loader.engine->send_loading(kReplica, batch_frame(3, 1), pattern(1, 100));
  pair.run();
  EXPECT_EQ(pair.replica.batches.size(), before + 1);
}

TEST(Engine, ViewsOnlyGrow) {
  Pair pair;
  pair.install();
  EXPECT_DEATH(pair.replica.engine->install(0, kReplica, 10, {}, nullptr, {}), "check failed");
}

}  // namespace
