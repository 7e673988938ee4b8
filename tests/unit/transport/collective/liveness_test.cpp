// What a member that waits sees of the others, over the simulated network.
#include <gtest/gtest.h>

#include "tests/unit/transport/transport_world.hpp"
#include "transport/collective/engine.hpp"

namespace {

using namespace muster;
using muster::testing::EventQueue;
using std::chrono::milliseconds;

TEST(StepClock, OneSlowStepDoesNotMoveTheMedian) {
  StepClock clock;
  EXPECT_EQ(clock.median(), milliseconds(0));
  for (int i = 0; i < 10; ++i) clock.step_took(milliseconds(400));
  clock.step_took(std::chrono::seconds(90));
  EXPECT_EQ(clock.median(), milliseconds(400));
  for (std::size_t i = 0; i < StepClock::kWindow; ++i) clock.step_took(milliseconds(50));
  EXPECT_EQ(clock.median(), milliseconds(50)) << "old steps are forgotten";
}

TEST(Liveness, AStatusSurvivesItsFrameAndGarbageIsNone) {
  const ProgressStatus status{Activity::computing, 7, 1ull << 40};
  StatusBody body = StatusBody::from(frame_with(body_of(status)));
  EXPECT_EQ(status_in(body), status);
  body.activity = kActivities;
  EXPECT_FALSE(status_in(body));
}

TEST(Liveness, ProgressIsWhenTheCounterMovedLast) {
  Liveness liveness;
  PeerSight sight;
  sight.peer = 4;
  liveness.told(4, {Activity::loading, 1, 10}, milliseconds(100));
  liveness.told(4, {Activity::loading, 2, 10}, milliseconds(200));
  liveness.describe(sight, milliseconds(400));
  EXPECT_EQ(sight.progress, milliseconds(100));
  EXPECT_EQ(sight.doing.shard, 2u);
  liveness.told(4, {Activity::computing, 2, 11}, milliseconds(300));
  liveness.describe(sight, milliseconds(400));
  EXPECT_EQ(sight.progress, milliseconds(300));
}

TEST(Liveness, CountsWhatAPeerSpendsItsTimeWithFromTheFirstLookAtARoundOn) {
  Liveness liveness;
  const auto spent = [&](Activity activity, milliseconds now) {
    PeerSight sight;
    sight.peer = 4;
    liveness.describe(sight, now);
    return sight.spent[static_cast<std::size_t>(activity)];
  };
  liveness.told(4, {Activity::updating, 1, 10}, milliseconds(100));
  EXPECT_FALSE(liveness.again(7));
  liveness.told(4, {Activity::loading, 1, 11}, milliseconds(300));
  EXPECT_TRUE(liveness.again(7));
  liveness.told(4, {Activity::computing, 2, 12}, milliseconds(450));
  EXPECT_EQ(spent(Activity::updating, milliseconds(500)), milliseconds(0)) << "before the wait";
  EXPECT_EQ(spent(Activity::loading, milliseconds(500)), milliseconds(150));
  EXPECT_EQ(spent(Activity::computing, milliseconds(500)), milliseconds(50));
  EXPECT_FALSE(liveness.again(8));
  EXPECT_EQ(spent(Activity::loading, milliseconds(600)), milliseconds(0));
}

TEST(ProgressBoard, RestsOnlyIfNothingElseWasBegun) {
  ProgressBoard board;
  const std::uint64_t copies = board.now(Activity::updating);
  const std::uint64_t deals = board.now(Activity::updating);
  board.rests(copies);
  EXPECT_EQ(board.status().activity, Activity::updating);
  const std::uint64_t before = board.status().counter;
  board.rests(deals);
  EXPECT_EQ(board.status().activity, Activity::idle);
  EXPECT_GT(board.status().counter, before);
}

constexpr std::uint32_t kMembers = 3;
constexpr std::size_t kElements = 64;

struct Member {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Engine> engine;
  ProgressBoard board;
  std::vector<RoundRecord> records;
  std::vector<RoundSight> sights;
  std::vector<std::string> failures;
  std::vector<float> result = std::vector<float>(kElements), values = std::vector<float>(kElements, 1.0f);
};

// Three members with a shard each, ticks every 100 ms.
class LivenessWorld {
 public:
  LivenessWorld() : network_(queue_.handle(), 3) {
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      Member& member = members[i];
      member.transport = network_.attach("member " + std::to_string(i));
      Engine::Hooks hooks;
      hooks.round_done = [&member](std::shared_ptr<const RoundRecord> record) {
        member.records.push_back(*record);
      };
      hooks.reduction_failed = [&member](const std::string& why) { member.failures.push_back(why); };
      hooks.peer_failed = [&member](std::uint32_t, PeerId, const std::string& why) {
        member.failures.push_back(why);
      };
      hooks.refused = [&member](const std::string& why) { member.failures.push_back(why); };
      hooks.stalled = [&member](RoundSight sight) { member.sights.push_back(std::move(sight)); };
      hooks.progress = [&member] { return member.board.status(); };
      hooks.now = [this] { return queue_.now(); };
      member.engine = std::make_unique<Engine>(*member.transport, std::move(hooks));
    }
    ReductionShape shape;
    shape.view = 1;
    shape.shards = kMembers;
    shape.elements = kElements;
    std::vector<Engine::Peer> peers;
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      shape.members.push_back({i, 10 + i, i, i + 1});
      peers.push_back({i, 10 + i, members[i].transport->address()});
    }
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      shape.self = i;
      members[i].engine->install(1, i, 10 + i, peers, &shape, {});
    }
    for (std::uint32_t i = 0; i < kMembers; ++i) open(i, RoundKind::greeting);
    run_for(milliseconds(10));
  }
  ~LivenessWorld() {
    for (Member& member : members) member.transport.reset();
  }

  void open(std::uint32_t member, RoundKind kind = RoundKind::train) {
    RoundHeader header;
    header.round = members[member].records.size();
    header.kind = kind;
    header.step = kind == RoundKind::train ? header.round : 0;
    if (header.round > 0) header.record_hash = members[member].records.back().hash;
    if (kind == RoundKind::train) header.shards = {{member, 0, 4, 0, 0, 4, 4.0}};
    members[member].engine->reduction()->open(
        header, kind == RoundKind::train ? std::span<float>(members[member].result) : std::span<float>{});
  }
  void contribute(std::uint32_t member) {
    members[member].engine->reduction()->contribute(
        members[member].records.size(),
        {{leaf_node(tree_height(kMembers), member), members[member].values.data()}},
        {{member, 0, 1.0, 0, 4.0}}, nullptr);
  }
  void run_for(milliseconds time) {
    bool over = false;
    queue_.after(time, [&] { over = true; });
    while (!over && queue_.step()) {
    }
  }
  void tick() {
    for (Member& member : members) member.engine->tick();
    run_for(milliseconds(100));
  }
  SimulatedNetwork& network() { return network_; }
  std::uint64_t frames() const { return network_.counts().started; }
  std::chrono::nanoseconds now() const { return queue_.now(); }

  std::array<Member, kMembers> members;

 private:
  EventQueue queue_;
  SimulatedNetwork network_;
};

TEST(EngineLiveness, WhoWaitsIsToldWhatTheOthersDo) {
  LivenessWorld world;
  for (std::uint32_t i = 0; i < kMembers; ++i) world.open(i);
  world.contribute(0);
  world.contribute(1);
  world.members[2].board.now(Activity::computing, 2);
  const auto since = world.now();
  world.run_for(milliseconds(50));
  world.tick();
  EXPECT_TRUE(world.members[0].sights.empty()) << "one tick is no stall";
  for (int i = 0; i < 5; ++i) world.tick();
  ASSERT_EQ(world.members[0].sights.size(), 5u);
  EXPECT_TRUE(world.members[2].sights.empty()) << "it does not wait, it computes";
  const RoundSight& sight = world.members[0].sights.back();
  EXPECT_EQ(sight.view, 1u);
  EXPECT_EQ(sight.step, 1u);
  EXPECT_EQ(sight.waiting_since, since);
  ASSERT_EQ(sight.peers.size(), 2u);
  EXPECT_TRUE(sight.peers[0].header_in && sight.peers[0].metrics_in);
  EXPECT_TRUE(sight.peers[1].header_in);
  EXPECT_FALSE(sight.peers[1].metrics_in || sight.peers[1].sums_in);
  EXPECT_EQ(sight.peers[1].doing.activity, Activity::computing);
  EXPECT_EQ(sight.peers[1].doing.shard, 2u);
  EXPECT_FALSE(sight.peers[0].unanswered_since) << "it was not asked";
  EXPECT_EQ(sight.peers[1].unanswered_since, std::nullopt) << "it answers at each tick";
  EXPECT_LT(sight.peers[1].progress, since + milliseconds(160)) << "its counter stands still";

  const auto reports_at = world.now();
  world.contribute(2);
  world.run_for(milliseconds(10));
  for (const Member& member : world.members) {
    ASSERT_EQ(member.records.size(), 2u);
    EXPECT_TRUE(member.failures.empty());
    EXPECT_EQ(member.result[0], 3.0f / 12);
  }
  EXPECT_EQ(world.members[0].records.back().last_report_of, 2u);
  EXPECT_GT(world.members[0].records.back().last_report_at, reports_at);
  EXPECT_LT(world.members[0].records.back().last_report_at, reports_at + milliseconds(5));
}

TEST(EngineLiveness, WhoDoesNotAnswerIsSilentFromTheFirstQuestionOn) {
  LivenessWorld world;
  for (std::uint32_t i = 0; i < kMembers; ++i) world.open(i);
  world.contribute(0);
  world.run_for(milliseconds(5000));
  world.network().disturb("member 2", "member 0", {.blocked = true});
  world.tick();
  const auto asked = world.now();
  for (int i = 0; i < 5; ++i) world.tick();
  const RoundSight& sight = world.members[0].sights.back();
  EXPECT_EQ(sight.peers[1].unanswered_since, asked);
  EXPECT_EQ(sight.peers[0].unanswered_since, std::nullopt);
}

TEST(EngineLiveness, AMissingHeaderIsSeenToo) {
  LivenessWorld world;
  world.members[1].board.now(Activity::loading);
  world.open(0);
  world.contribute(0);
  for (int i = 0; i < 3; ++i) world.tick();
  const RoundSight& sight = world.members[0].sights.back();
  EXPECT_FALSE(sight.peers[0].header_in);
  EXPECT_EQ(sight.peers[0].doing.activity, Activity::loading);
  EXPECT_FALSE(sight.peers[1].header_in);
  EXPECT_EQ(sight.peers[1].doing.activity, Activity::idle);
}

TEST(EngineLiveness, NothingIsSentWhereNobodyWaits) {
  LivenessWorld world;
  const auto frames = world.frames();
  for (int i = 0; i < 10; ++i) world.tick();
  EXPECT_EQ(world.frames(), frames) << "between rounds";
  for (std::uint32_t i = 0; i < kMembers; ++i) world.open(i);
  world.run_for(milliseconds(10));
  const auto opened = world.frames();
  for (int i = 0; i < 10; ++i) world.tick();
  EXPECT_EQ(world.frames(), opened) << "while all compute";
}

TEST(EngineLiveness, WhoOwesNothingIsNotAsked) {
  LivenessWorld world;
  for (std::uint32_t i = 0; i < kMembers; ++i) world.open(i);
  world.contribute(0);
  world.contribute(1);
  world.run_for(milliseconds(10));
  world.tick();
  const auto frames = world.frames();
  world.tick();
  // Members 0 and 1 wait for member 2, and for what each adds up of it for the other: two pings each,
  // answered.
  EXPECT_EQ(world.frames() - frames, 8u);
}

TEST(EngineLiveness, TheMedianOfTheStepsIsKnown) {
  LivenessWorld world;
  for (int step = 0; step < 5; ++step) {
    for (std::uint32_t i = 0; i < kMembers; ++i) world.open(i);
    world.run_for(milliseconds(200));
    for (std::uint32_t i = 0; i < kMembers; ++i) world.contribute(i);
    world.run_for(milliseconds(10));
  }
  for (std::uint32_t i = 0; i < kMembers; ++i) world.open(i);
  world.contribute(0);
  world.tick();
  world.tick();
  EXPECT_NEAR(static_cast<double>(world.members[0].sights.at(0).median_step.count()), 210e6, 2e6);
}

}  // namespace
