#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/sanitized.hpp"
#include "tests/unit/transport/collective/reduction_world.hpp"
#include "transport/collective/choice/cost.hpp"
#include "transport/collective/choice/variant_choice.hpp"

namespace {

using namespace muster;
using namespace std::chrono_literals;
using muster::testing::LeafPlan;
using muster::testing::random_rounds;
using muster::testing::ReductionWorld;
using muster::testing::ReductionWorldShape;
using muster::testing::RoundPlan;
using oracle::RandomValues;

ReductionWorldShape even_shape(std::uint32_t members, std::uint32_t shards, std::size_t elements) {
  ReductionWorldShape shape;
  shape.shards = shards;
  shape.elements = elements;
  for (std::uint32_t i = 0; i < members; ++i)
    shape.split.push_back(shards / members + (i < shards % members));
  return shape;
}

void run_to_the_end(const ReductionWorldShape& shape, std::size_t rounds, std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", members " + std::to_string(shape.split.size()) +
               ", shards " + std::to_string(shape.shards) + ", elements " + std::to_string(shape.elements) +
               ", " + std::string(text_of(shape.algorithm)) + ", bucket " +
               std::to_string(shape.bucket_elements) + (shape.sharded ? ", sharded" : "") + ", chunk " +
               std::to_string(shape.chunk_elements) + ", at once " + std::to_string(shape.at_once_bytes));
  RandomValues random(seed);
  ReductionWorld world(shape, random_rounds(rounds, shape, random), seed);
  world.install_all();
  ASSERT_TRUE(world.run());
  ASSERT_TRUE(world.complete());
  world.expect_all_right();
}

TEST(Reduction, AnyMembersShardsSplitsAndSizesGiveTheOraclesBits) {
  constexpr std::size_t kSizes[] = {0, 1, 15, 16, 17, 1000};
  constexpr std::size_t kChunks[] = {5, 16, 64, 128 * 1024};
  constexpr std::size_t kAtOnce[] = {0, 256, 8192};
  RandomValues random(11);
  // 45 turns are all algorithms with all numbers of members.
  for (std::uint64_t turn = 0; turn < (kSanitized ? 108 : 400); ++turn) {
    ReductionWorldShape shape;
    shape.algorithm = kAlgorithms[turn % std::size(kAlgorithms)];
    shape.per_host = static_cast<std::uint32_t>(1 + random.below(3));
    const auto members = static_cast<std::uint32_t>(1 + turn / std::size(kAlgorithms) % 9);
    shape.shards = static_cast<std::uint32_t>(members + random.below(17 - members));
    shape.split = random.split(shape.shards, members);
    shape.elements = kSizes[random.below(std::size(kSizes))];
    shape.chunk_elements = kChunks[random.below(std::size(kChunks))];
    shape.at_once_bytes = kAtOnce[random.below(std::size(kAtOnce))];
    if (random.chance(50)) shape.bucket_elements = 1 + random.below(200);
    if (random.chance(30)) shape.wire = {random.chance(50) ? WireType::float16 : WireType::bfloat16, 0};
    shape.sharded = random.chance(40) && !adds_everywhere(shape.algorithm);
    if (!shape.sharded && random.chance(40)) shape.state_elements = 1 + random.below(50);
    if (!shape.sharded && random.chance(40)) shape.sketch_elements = 1 + random.below(2000);
    shape.late_folds =
        !shape.wire.rounds() && !shape.sharded && shape.state_elements == 0 && random.chance(50);
    shape.pace = random.chance(50) ? 500us : 5us;
    shape.repeats = random.chance(20);
    run_to_the_end(shape, 12, turn);
    if (HasFatalFailure()) return;
  }
}

// The clocks count how often they are looked at: in a round along the trees twice, to add and to copy; in one
// shot once. One frame less a member says which variant a round took.
TEST(Reduction, TwoMembersAddEverythingUpThemselvesIfThatTookThemLessTime) {
  constexpr std::size_t kRounds = 300, kFrames = 4, kTurn = 3 * VariantChoice::kTries;
  ReductionWorldShape shape = even_shape(2, 2, 20'000);
  shape.chunk_elements = 128 * 1024;
  shape.per_host = 2;
  shape.one_shot_too = true;
  const std::size_t tries =
      kTurn * VariantChoice::kFirst + 1;                // and the round in which they say what it took
  for (const std::uint32_t measuring : {0u, 1u, 2u}) {  // one alone knows nothing of the other
    shape.whose_time_passes = measuring;
    RandomValues random(measuring);
    std::vector<RoundPlan> rounds;
    while (rounds.size() < kRounds) {
      for (RoundPlan& plan : random_rounds(1, shape, random)) {
        if (plan.kind != RoundKind::train || plan.leaves.empty()) continue;
        plan.step = rounds.size() + 1;
        for (LeafPlan& leaf : plan.leaves) leaf = {random.values(shape.elements), false, 1};
        rounds.push_back(std::move(plan));
      }
    }
    ReductionWorld world(shape, rounds, measuring);
    world.install_all();
    ASSERT_TRUE(world.run());
    ASSERT_TRUE(world.complete());
    world.expect_all_right();
    std::size_t shorter = 0;
    for (std::size_t i = 1; i <= kRounds; ++i) {
      Traffic sent = world.members()[0].records[i].sent;
      sent += world.members()[1].records[i].sent;
      const bool tried = i <= tries || (i - 1) % VariantChoice::kEvery < kTurn;
      if (!tried && sent.between_hosts.frames + sent.within_host.frames < 2 * kFrames) ++shorter;
    }
    const std::size_t untried = kRounds - tries - kTurn * ((kRounds - 1) / VariantChoice::kEvery);
    EXPECT_EQ(shorter, measuring == 2 ? untried : 0);
  }
}

TEST(Reduction, StatesOfMoreThanOnePieceAreWithTheBuddyBeforeAnybodyIsThrough) {
  ReductionWorldShape shape = even_shape(3, 4, 20);
  shape.state_elements = 600'000;
  run_to_the_end(shape, 4, 31);
  shape.repeats = true;
  run_to_the_end(shape, 4, 32);
}

// Each member of the simulated network is a host of its own, so what the transport counts is what all send.
TEST(Reduction, RecordsSayWhatWasSentAndItIsTheCost) {
  RandomValues random(14);
  for (std::uint64_t turn = 0; turn < 60; ++turn) {
    ReductionWorldShape shape;
    shape.algorithm = kAlgorithms[turn % std::size(kAlgorithms)];
    const auto members = static_cast<std::uint32_t>(1 + turn / std::size(kAlgorithms) % 9);
    shape.shards = static_cast<std::uint32_t>(members + random.below(17 - members));
    shape.split = random.split(shape.shards, members);
    shape.elements = 1 + random.below(500);
    shape.sharded = random.chance(50) && !adds_everywhere(shape.algorithm);
    std::vector<RoundPlan> rounds = random_rounds(8, shape, random);
    for (RoundPlan& plan : rounds) {  // every shard adds something to every step
      for (LeafPlan& leaf : plan.leaves) {
        if (!leaf.values) leaf.values.emplace(shape.elements, 1.0f);
        leaf.ended = false;
        leaf.weight = 1;
      }
    }
    ReductionWorld world(shape, rounds, turn);
    world.install_all();
    ASSERT_TRUE(world.run());
    ASSERT_TRUE(world.complete());
    world.expect_all_right();
    ReductionShape costs;
    costs.shards = shape.shards;
    costs.elements = shape.elements;
    costs.algorithm = shape.algorithm;
    costs.sharded = shape.sharded;
    for (const auto& member : world.members()) {
      const auto place = static_cast<std::uint32_t>(costs.members.size());
      costs.members.push_back({0, 0, member.begin, member.end, place, (place + 1) % members});
    }
    const ReductionCost cost = cost_of(costs);
    for (std::size_t round = 0; round < world.members().front().records.size(); ++round) {
      Traffic sent;
      for (std::size_t m = 0; m < members; ++m) {
        const RoundRecord& record = world.members()[m].records[round];
        const bool step = record.kind == RoundKind::train;
        EXPECT_EQ(record.sent.between_hosts.payload_bytes, step ? cost.sent_by[m] * sizeof(float) : 0);
        sent += record.sent;
      }
      EXPECT_EQ(sent.within_host, Sent{});
      EXPECT_EQ(sent.between_hosts.other_bytes, 0u);
      EXPECT_EQ(sent.between_hosts.metadata_bytes > 0, members > 1);
    }
  }
}

TEST(Reduction, WhoeverStandsInForWhomTheBitsAreTheOracles) {
  RandomValues random(12);
  for (std::uint64_t turn = 0; turn < 400; ++turn) {
    ReductionWorldShape shape;
    shape.algorithm = kAlgorithms[turn % std::size(kAlgorithms)];
    shape.per_host = static_cast<std::uint32_t>(1 + random.below(3));
    const auto members = static_cast<std::uint32_t>(2 + turn / std::size(kAlgorithms) % 5);
    shape.shards = static_cast<std::uint32_t>(members + random.below(17 - members));
    shape.split = random.split(shape.shards, members);
    shape.elements = 1 + random.below(100);
    shape.chunk_elements = 16;
    if (random.chance(50)) shape.bucket_elements = 1 + random.below(50);
    if (random.chance(30)) shape.wire = {WireType::bfloat16, 0};
    shape.sharded = random.chance(40) && !adds_everywhere(shape.algorithm);
    shape.at_once_bytes = random.chance(50) ? 0 : 256;
    shape.backup_workers = true;
    shape.pace = random.chance(50) ? 500us : 20us;
    run_to_the_end(shape, 12, turn);
    if (HasFatalFailure()) return;
  }
}

TEST(Reduction, ManyRoundsLeaveNothingBehind) {
  ReductionWorldShape shape = even_shape(3, 5, 100);
  shape.at_once_bytes = 64;
  shape.pace = 3us;
  for (const std::uint64_t seed : {21, 22, 23}) run_to_the_end(shape, 400, seed);
}

TEST(Reduction, TheSameRecordsOnAnyNumberOfMembers) {
  std::vector<std::uint64_t> hashes;
  for (std::uint32_t members = 1; members <= 6; ++members) {
    const ReductionWorldShape shape = even_shape(members, 6, 100);
    RandomValues random(31);  // the same plan for each
    ReductionWorld world(shape, random_rounds(20, shape, random), members);
    world.install_all();
    ASSERT_TRUE(world.run());
    ASSERT_TRUE(world.complete());
    hashes.push_back(world.members()[0].records.back().hash);
  }
  EXPECT_EQ(hashes, std::vector<std::uint64_t>(6, hashes[0]));
}

TEST(Reduction, MemberThatEntersLateFindsWhatCameBefore) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ReductionWorldShape shape = even_shape(3, 4, 40);
    RandomValues random(seed);
    ReductionWorld world(shape, random_rounds(5, shape, random), seed);
    world.install(0);
    world.install(1, 5ms);  // all that member 0 said has arrived by then
    world.install(2, 10ms);
    ASSERT_TRUE(world.run());
    ASSERT_TRUE(world.complete()) << "seed " << seed << ": a greeting was lost";
    world.expect_all_right();
  }
}

TEST(Reduction, MembersThatDisagreeHaveDiverged) {
  const ReductionWorldShape shape = even_shape(4, 6, 50);
  RandomValues random(41);
  ReductionWorld world(shape, random_rounds(6, shape, random), 41);
  world.members()[2].step_offset = 1;
  world.install_all();
  ASSERT_TRUE(world.run());
  for (const auto& member : world.members()) {
    EXPECT_EQ(member.records.size(), 1u) << member.name << ": only the greeting";
    ASSERT_EQ(member.failures.size(), 1u) << member.name;
    EXPECT_NE(member.failures[0].find("diverged"), std::string::npos) << member.failures[0];
    EXPECT_NE(member.failures[0].find("replica 2"), std::string::npos) << member.failures[0];
  }
}

TEST(Reduction, WhatIsAddedUpAsideHasTheSameBitsAsOnTheHost) {
  for (std::uint64_t turn = 0; turn < 60; ++turn) {
    ReductionWorldShape shape = even_shape(1 + turn % 6, 8, 700);
    shape.algorithm = kAlgorithms[turn % std::size(kAlgorithms)];
    shape.per_host = 2;
    shape.chunk_elements = 64;
    shape.bucket_elements = turn % 2 == 0 ? 150 : 0;
    shape.late_folds = true;
    run_to_the_end(shape, 10, turn);
  }
}

// Of four members, which have entered the view.
std::unique_ptr<ReductionWorld> world_that_adds_up_aside(std::uint64_t seed) {
  ReductionWorldShape shape = even_shape(4, 8, 700);
  shape.algorithm = kAlgorithms[seed % std::size(kAlgorithms)];
  shape.chunk_elements = 64;
  shape.late_folds = true;
  RandomValues random(seed);
  auto world = std::make_unique<ReductionWorld>(shape, random_rounds(8, shape, random), seed);
  world->install_all();
  return world;
}

ReductionWorldShape world_that_borrows(std::uint64_t seed, std::uint64_t revokes) {
  ReductionWorldShape shape;
  shape.shards = 6;
  shape.split = {2, 2, 2};
  shape.elements = 40;
  shape.chunk_elements = 16;
  shape.sharded = seed % 2 == 1;
  shape.supports_borrowing = true;
  shape.revokes = revokes;
  return shape;
}

TEST(Reduction, WhatIsReadWhereItsSenderHasItMakesTheSameSums) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomValues random(seed);
    const ReductionWorldShape shape = world_that_borrows(seed, 0);
    ReductionWorld world(shape, random_rounds(8, shape, random), seed);
    world.install_all();
    ASSERT_TRUE(world.run());
    world.expect_all_right();
    for (const auto& member : world.members())
      EXPECT_EQ(member.borrowing->not_given_back(), 0u) << member.name;
  }
}

// Its owner was evicted, woke, and wrote into the memory that this member adds up. Each round that ends is
// compared with the oracle. One that needs this sum (a step without weight does not) ends with the view.
TEST(Reduction, ASumOfMemoryThatItsOwnerTookBackNeverBecomesAResult) {
  std::size_t stopped = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomValues random(seed);
    const ReductionWorldShape shape = world_that_borrows(seed, 1 + seed % 15);
    ReductionWorld world(shape, random_rounds(8, shape, random), seed);
    world.install_all();
    ASSERT_TRUE(world.run());
    const bool took = world.members()[0].borrowing->took_revoked();
    EXPECT_TRUE(took || world.complete()) << "seed " << seed;
    stopped += world.complete() ? 0 : 1;
    for (auto& member : world.members()) member.engine->close(ReductionWorld::kView, {});
    ASSERT_TRUE(world.run());
    for (const auto& member : world.members()) {
      EXPECT_EQ(member.closed, 1u) << member.name << ", seed " << seed;
      EXPECT_EQ(member.borrowing->not_given_back(), 0u) << member.name << ", seed " << seed;
    }
  }
  EXPECT_GT(stopped, 30u);
}

// At any moment: what has been begun is neither forgotten nor waited for by anybody after `closed`.
TEST(Reduction, AViewIsClosedWhenItsFoldsHaveEnded) {
  std::size_t while_folding = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto owner = world_that_adds_up_aside(seed);
    ReductionWorld& world = *owner;
    world.run_until(std::chrono::microseconds(500 + 100 * seed));
    for (auto& member : world.members()) {
      while_folding += member.folds->working();
      member.engine->close(ReductionWorld::kView, {});
    }
    ASSERT_TRUE(world.run());
    for (const auto& member : world.members()) {
      EXPECT_EQ(member.closed, 1u) << member.name << ", seed " << seed;
      EXPECT_FALSE(member.folds->working()) << member.name;
    }
  }
  EXPECT_GT(while_folding, 20u);
}

TEST(Reduction, EndsWithTheReasonWhereItsUnitFails) {
  std::size_t failed = 0;
  for (std::size_t calls = 0; calls < 120; ++calls) {
    const auto owner = world_that_adds_up_aside(calls);
    ReductionWorld& world = *owner;
    world.members()[1].folds->fail_after(calls);
    ASSERT_TRUE(world.run());
    for (const auto& member : world.members()) {
      const bool fails = &member == &world.members()[1] && !member.failures.empty();
      EXPECT_EQ(member.failures, std::vector<std::string>(fails ? 1 : 0, "the GPU has failed")) << calls;
      failed += fails ? 1 : 0;
    }
  }
  EXPECT_GT(failed, 80u);
}

TEST(Reduction, MemberThatVanishesIsNoticedByAllOthersOnce) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const ReductionWorldShape shape = even_shape(4, 7, 300);
    RandomValues random(seed);
    ReductionWorld world(shape, random_rounds(50, shape, random), seed);
    world.install_all();
    ASSERT_TRUE(world.run_until(std::chrono::microseconds(1000 + 700 * seed)));
    const auto gone = static_cast<PeerId>(seed % 4);
    world.network().cut("member " + std::to_string(gone));
    ASSERT_TRUE(world.run());
    EXPECT_FALSE(world.complete());
    for (PeerId i = 0; i < 4; ++i) {
      const auto& member = world.members()[i];
      if (i == gone) continue;
      EXPECT_EQ(member.peers_failed, std::vector<PeerId>{gone}) << "seed " << seed << ", " << member.name;
      EXPECT_LE(member.failures.size(), 1u) << member.name;
    }
  }
}

// What a peer says is not trusted to be possible.
TEST(Reduction, HeaderThatSpeaksForOthersEndsTheViewAndNotTheProcess) {
  const ReductionWorldShape shape = even_shape(2, 4, 32);
  ReductionWorld world(shape, {}, 61);
  world.install_all();
  ASSERT_TRUE(world.run());
  RoundHeader forged;
  forged.round = 1;
  forged.shards.resize(2);
  forged.shards[0] = {0, 0, 4, 0, 0, 4, 4.0};  // a shard of member 0
  forged.shards[1] = {3, 0, 4, 0, 0, 4, 4.0};
  RoundHeader honest = forged;
  honest.shards[0].ended = honest.shards[1].ended = 1;
  honest.shards[1].shard = 1;
  std::vector<std::byte> bytes;
  encode_header(forged, bytes);
  append_check(bytes);
  Frame frame;
  frame.view = ReductionWorld::kView;
  frame.from = 1;
  frame.incarnation = 1001;
  frame.round = 1;
  frame.bytes = bytes.size();
  auto& members = world.members();
  members[0].engine->reduction()->open(honest, members[0].result);
  members[0].engine->reduction()->contribute(1, {}, {}, nullptr);
  constexpr SendToken kNoRound = SendToken{1} << 63;  // none that the reduction waits for
  members[1].transport->send(0, frame, bytes, kNoRound);
  ASSERT_TRUE(world.run());
  EXPECT_EQ(members[0].blamed_for, std::vector<std::string>{"it sent a header that cannot be"});
}

// Members without samples add nothing, and results are written for them all the same.
TEST(Reduction, WhatAResultLiesInIsHeldUntilTheRoundOrTheReductionEnds) {
  const ReductionWorldShape shape = even_shape(2, 2, 32);
  ReductionWorld world(shape, {}, 62);
  world.install_all();
  ASSERT_TRUE(world.run());
  RoundHeader ended;
  ended.round = 1;
  ended.kind = RoundKind::train;
  std::vector<std::weak_ptr<std::vector<float>>> held;
  for (std::uint32_t i = 0; i < 2; ++i) {
    ended.shards = {{i, 0, 4, 0, 0, 4, 4.0}};
    const auto result = std::make_shared<std::vector<float>>(shape.elements);
    held.push_back(result);
    world.members()[i].engine->reduction()->open(ended, *result, result);
    EXPECT_FALSE(result.use_count() == 1);
  }
  EXPECT_FALSE(held[0].expired() || held[1].expired());
  world.members()[1].engine.reset();
  EXPECT_TRUE(held[1].expired());
  EXPECT_FALSE(held[0].expired());
}

TEST(Reduction, StagingIsAtMostWhatTheNodesOfOthersTake) {
  const ReductionWorldShape shape = even_shape(4, 8, 1024);
  RandomValues random(71);
  ReductionWorld world(shape, random_rounds(20, shape, random), 71);
  world.install_all();
  ASSERT_TRUE(world.run());
  ASSERT_TRUE(world.complete());
  for (const auto& member : world.members()) {
    // Two rounds in flight, three others with one node each, a quarter of the vector.
    EXPECT_LE(member.engine->reduction()->staging_bytes(), 2 * 3 * 256 * sizeof(float));
    EXPECT_GT(member.engine->reduction()->staging_bytes(), 0u);
    EXPECT_FALSE(member.engine->reduction()->waiting());
    EXPECT_FALSE(member.engine->busy());
  }
}

}  // namespace
