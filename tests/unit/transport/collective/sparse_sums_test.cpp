// Reductions whose sums travel sparse between hosts.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/support/sanitized.hpp"
#include "tests/unit/transport/collective/reduction_world.hpp"
#include "transport/collective/choice/cost.hpp"
#include "transport/collective/sums/sparse.hpp"

namespace {

using namespace muster;
using namespace std::chrono_literals;
using muster::testing::LeafPlan;
using muster::testing::random_rounds;
using muster::testing::ReductionWorld;
using muster::testing::ReductionWorldShape;
using muster::testing::RoundPlan;
using oracle::RandomValues;

ReductionWorldShape random_shape(std::uint64_t turn, std::uint32_t members, RandomValues& random) {
  constexpr std::size_t kSizes[] = {1, 15, 17, 300, 1000};
  constexpr std::size_t kChunks[] = {5, 16, 64, 128 * 1024};
  constexpr std::size_t kAtOnce[] = {0, 64, 8192};
  ReductionWorldShape shape;
  shape.sparse = true;
  shape.algorithm = kAlgorithms[turn % std::size(kAlgorithms)];
  shape.per_host = static_cast<std::uint32_t>(1 + random.below(3));
  shape.shards = static_cast<std::uint32_t>(members + random.below(17 - members));
  shape.split = random.split(shape.shards, members);
  shape.elements = kSizes[random.below(std::size(kSizes))];
  shape.chunk_elements = kChunks[random.below(std::size(kChunks))];
  shape.at_once_bytes = kAtOnce[random.below(std::size(kAtOnce))];
  if (random.chance(50)) shape.bucket_elements = 1 + random.below(200);
  if (random.chance(60)) shape.wire = {random.chance(50) ? WireType::float16 : WireType::bfloat16, 0};
  shape.sharded = random.chance(30) && !adds_everywhere(shape.algorithm);
  shape.pace = random.chance(50) ? 500us : 5us;
  return shape;
}

// What came of it, after it has been compared with the oracle.
std::uint64_t hash_of(const ReductionWorldShape& shape, const std::vector<RoundPlan>& rounds,
                      std::uint64_t seed) {
  ReductionWorld world(shape, rounds, seed);
  world.install_all();
  EXPECT_TRUE(world.run());
  EXPECT_TRUE(world.complete());
  if (!world.complete()) return 0;
  world.expect_all_right();
  return world.members().front().records.back().hash;
}

TEST(SparseSums, HaveTheOraclesBitsWhateverTheDensity) {
  RandomValues random(91);
  // 45 turns are all algorithms with all numbers of members.
  for (std::uint64_t turn = 0; turn < (kSanitized ? 108 : 400); ++turn) {
    ReductionWorldShape shape =
        random_shape(turn, static_cast<std::uint32_t>(1 + turn / std::size(kAlgorithms) % 9), random);
    SCOPED_TRACE("turn " + std::to_string(turn) + ", " + std::string(text_of(shape.algorithm)));
    const auto rounds = random_rounds(10, shape, random);
    const std::uint64_t sparse = hash_of(shape, rounds, turn);
    shape.sparse = false;
    EXPECT_EQ(sparse, hash_of(shape, rounds, turn));
    if (HasFailure()) return;
  }
}

TEST(SparseSums, HaveThemAlsoWithBackupWorkers) {
  RandomValues random(92);
  for (std::uint64_t turn = 0; turn < 200; ++turn) {
    ReductionWorldShape shape = random_shape(turn, static_cast<std::uint32_t>(2 + turn / 4 % 5), random);
    shape.chunk_elements = 16;
    shape.elements = 1 + random.below(100);
    shape.backup_workers = true;
    SCOPED_TRACE("turn " + std::to_string(turn) + ", " + std::string(text_of(shape.algorithm)));
    hash_of(shape, random_rounds(12, shape, random), turn);
    if (HasFailure()) return;
  }
}

TEST(SparseSums, EndWithAMemberThatVanishesWhereverTheyAre) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomValues random(seed);
    ReductionWorldShape shape = random_shape(seed, 4, random);
    shape.elements = 1000;
    shape.pace = 20us;
    ReductionWorld world(shape, random_rounds(200, shape, random), seed);
    world.install_all();
    ASSERT_TRUE(world.run_until(std::chrono::microseconds(100 + 37 * seed)));
    const auto gone = static_cast<PeerId>(seed % 4);
    world.network().cut("member " + std::to_string(gone));
    ASSERT_TRUE(world.run());
    EXPECT_FALSE(world.complete());
    for (PeerId i = 0; i < 4; ++i) {
      const auto& member = world.members()[i];
      if (i == gone) continue;
      EXPECT_EQ(member.peers_failed, std::vector<PeerId>{gone}) << "seed " << seed << ", " << member.name;
      EXPECT_EQ(member.failures, std::vector<std::string>{}) << member.name;
    }
  }
}

// ---- what is sent

std::uint64_t bytes_of(const std::vector<float>& values, ElementRange range) {
  const auto begin = values.begin() + static_cast<long>(range.begin);
  const auto others = std::count_if(begin, begin + static_cast<long>(range.count()),
                                    [](float value) { return std::bit_cast<std::uint32_t>(value) != 0; });
  return std::min<std::uint64_t>(range.count() * 4, 4 + 6 * static_cast<std::uint64_t>(others));
}

// By `direct`, one shard each: its sums to the owners, and its range of the result to all. With a sharded
// optimizer that is dense, and there is the buddy's part.
std::uint64_t sent_by(std::size_t self, std::size_t members, const std::vector<oracle::Values>& leaves,
                      const std::vector<float>& mean, bool sharded) {
  const ElementRange all{0, mean.size()};
  std::uint64_t bytes = 0;
  for (std::size_t owner = 0; owner < members; ++owner) {
    if (owner != self) bytes += bytes_of(*leaves[self], range_of_owner(all, owner, members));
  }
  const ElementRange own = range_of_owner(all, self, members);
  return bytes + (sharded ? members * own.count() * 4 : (members - 1) * bytes_of(mean, own));
}

TEST(SparseSums, SendWhatTheirFormTakesAndFarLess) {
  constexpr std::uint32_t kMembers = 4;
  for (const bool sharded : {false, true}) {
    ReductionWorldShape shape;
    shape.sparse = true;
    shape.sharded = sharded;
    shape.shards = kMembers;
    shape.split.assign(kMembers, 1);
    shape.elements = 40'000;
    shape.chunk_elements = 128 * 1024;
    RandomValues random(93);
    RoundPlan plan;
    plan.step = 0;  // where the gradient is 0 the parameters are, too
    std::vector<oracle::Values> leaves;
    for (std::uint32_t s = 0; s < kMembers; ++s) {
      leaves.emplace_back(std::vector<float>(shape.elements, 0.0F));
      for (std::size_t i = 0; i < shape.elements / 100; ++i)
        (*leaves.back())[random.below(shape.elements)] = random.value();
      plan.leaves.push_back({leaves.back(), false, 1});
    }
    ReductionWorld world(shape, {plan}, 93);
    world.install_all();
    ASSERT_TRUE(world.run());
    ASSERT_TRUE(world.complete());
    world.expect_all_right();
    const auto mean = *oracle::mean(leaves, kMembers);
    std::uint64_t sent = 0;
    for (std::size_t m = 0; m < kMembers; ++m) {
      const Sent& by = world.members()[m].records.back().sent.between_hosts;
      EXPECT_EQ(by.payload_bytes, sent_by(m, kMembers, leaves, mean, sharded)) << m;
      sent += by.payload_bytes;
    }
    const std::uint64_t dense = 2 * (kMembers - 1) * shape.elements * 4;
    if (!sharded) {
      EXPECT_LT(sent * 20, dense);
    }
  }
}

// ---- what a peer says is not trusted to be possible

/// Two members with two chunks of 16 elements each; the first has opened round 1, the second one lies.
class Forgeries : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 16;

  explicit Forgeries(bool sparse = true) : world_(shape(sparse), {}, 94) {
    world_.install_all();
    EXPECT_TRUE(world_.run());
    RoundHeader header;
    header.round = 1;
    header.shards.push_back({0, 0, 4, 0, 0, 4, 4.0});
    reduction().open(header, world_.members()[0].result);
    values_.assign(kCount, 0.0F);
    values_[3] = 1.0F;
    values_[9] = -0.0F;
    form_.resize(kCount * sizeof(float));
    form_.resize(pack_sparse(values_.data(), kCount, {}, form_.data(), form_.size()).value());
  }

  static ReductionWorldShape shape(bool sparse) {
    ReductionWorldShape shape;
    shape.sparse = sparse;
    shape.shards = 2;
    shape.split = {1, 1};
    shape.elements = 4 * kCount;
    shape.chunk_elements = kCount;
    return shape;
  }
  Reduction& reduction() { return *world_.members()[0].engine->reduction(); }
  // Sums for the range of the first member, or the result in that of the second one.
  Frame frame(FrameKind kind) const {
    const std::uint64_t first = kind == FrameKind::contribution ? 0 : 2 * kCount;
    return frame(kind, {0, first, kCount});
  }
  Frame frame(FrameKind kind, const Elements& elements) const {
    const std::uint32_t tree_node = kind == FrameKind::contribution ? 3 : 0;
    Frame frame;
    put_words(frame, kind, {elements.first, tree_node, elements.sum, elements.sparse});
    frame.view = ReductionWorld::kView;
    frame.from = 1;
    frame.incarnation = 1001;
    frame.round = 1;
    frame.bytes = form_.size();
    return frame;
  }
  void send(const Frame& frame, const std::vector<std::byte>& payload) {
    constexpr SendToken kNoRound = SendToken{1} << 63;  // none that the reduction waits for
    world_.members()[1].transport->send(0, frame, payload, kNoRound);
    ASSERT_TRUE(world_.run());
  }
  std::span<std::byte> placed(const Frame& frame) {
    const auto place = reduction().place(frame);
    EXPECT_EQ(place.size(), form_.size());
    std::copy(form_.begin(), form_.end(), place.begin());
    return place;
  }
  const std::vector<std::string>& failures() { return world_.members()[0].failures; }
  bool has_result() {
    return oracle::same_bits(world_.members()[0].result.data() + 2 * kCount, values_.data(), kCount);
  }

  ReductionWorld world_;
  std::vector<float> values_;
  std::vector<std::byte> form_;
};

TEST_F(Forgeries, AreNoneWhereTheFormIsGood) {
  for (const FrameKind kind : {FrameKind::contribution, FrameKind::result}) send(frame(kind), form_);
  EXPECT_TRUE(failures().empty());
  EXPECT_TRUE(has_result());
}

class DamagedForms : public Forgeries, public ::testing::WithParamInterface<FrameKind> {};

TEST_P(DamagedForms, EndTheRoundWithAReason) {
  auto damaged = form_;
  damaged[6] = std::byte{2};  // the second position is below the first
  send(frame(GetParam()), damaged);
  EXPECT_EQ(world_.members()[0].blamed_for, std::vector<std::string>{"it sent sums that cannot be"});
}

INSTANTIATE_TEST_SUITE_P(, DamagedForms, ::testing::Values(FrameKind::contribution, FrameKind::result),
                         [](const auto& kind) {
                           return kind.param == FrameKind::result ? "InResults" : "InSums";
                         });

TEST_F(Forgeries, ThatCannotFitAreNotPlaced) {
  for (const FrameKind kind : {FrameKind::contribution, FrameKind::result}) {
    const auto refused = [&](auto change) {
      Frame forged = frame(kind);
      change(forged);
      return reduction().place(forged).empty();
    };
    const auto no_elements = [&](std::uint64_t first, std::uint64_t sparse) {
      return refused([&](Frame& f) { f = frame(kind, {0, first, sparse}); });
    };
    const std::uint64_t first = elements_in(frame(kind)).first;
    EXPECT_TRUE(refused([](Frame& f) { f.bytes = kCount * sizeof(float); }));  // as large as a dense one
    EXPECT_TRUE(refused([](Frame& f) { f.bytes = kPayloadBytesMax; }));
    EXPECT_TRUE(no_elements(first, kCount - 1));  // no whole pieces
    // Whole pieces, but more than has room in a chunk.
    EXPECT_TRUE(no_elements(first, 2 * kCount));
    EXPECT_TRUE(refused([&](Frame& f) {
      f = frame(kind, {0, first, 2 * kCount});
      f.bytes = 2 * kCount * sizeof(float) - 1;
    }));
    EXPECT_TRUE(no_elements(first, ~std::uint64_t{0}));
    EXPECT_TRUE(no_elements(first, (std::uint64_t{1} << 62) + kCount));
    EXPECT_TRUE(no_elements(1, kCount));
    EXPECT_TRUE(no_elements(~std::uint64_t{0}, kCount));
    EXPECT_TRUE(refused([](Frame& f) { f.from = 0; }));
  }
  Frame backup = frame(FrameKind::reduced);
  EXPECT_TRUE(reduction().place(backup).empty());
  EXPECT_FALSE(reduction().arrived_in_place(frame(FrameKind::contribution), form_, {}));
}

TEST_F(Forgeries, ThatComeTwiceCountOnce) {
  for (const FrameKind kind : {FrameKind::contribution, FrameKind::result}) {
    const Frame twice = frame(kind);
    const auto first = placed(twice), second = placed(twice);
    reduction().arrived(twice, first);
    if (kind == FrameKind::result) std::fill(second.begin(), second.end(), std::byte{0});
    reduction().arrived(twice, second);
    EXPECT_TRUE(reduction().place(twice).empty());
  }
  EXPECT_TRUE(failures().empty());
  EXPECT_TRUE(has_result());
}

// So many places are borrowed as anybody needs who follows the protocol.
TEST_F(Forgeries, AreBounded) {
  for (const FrameKind kind : {FrameKind::contribution, FrameKind::result}) {
    std::size_t places = 0;
    while (places < 1000 && !reduction().place(frame(kind)).empty()) ++places;
    EXPECT_LT(places, 50u);
  }
}

TEST_F(Forgeries, ThatArriveAfterTheEndChangeNothing) {
  const Frame sums = frame(FrameKind::contribution), result = frame(FrameKind::result);
  const auto first = placed(sums), second = placed(result);
  reduction().close();
  reduction().arrived(sums, first);
  reduction().arrived(result, second);
  EXPECT_TRUE(failures().empty());
  EXPECT_FALSE(has_result());
}

TEST_F(Forgeries, WithoutAPayloadHaveNoPlaceToGiveBack) {
  for (const FrameKind kind : {FrameKind::contribution, FrameKind::result}) {
    Frame stale = frame(kind), empty = stale;
    stale.view = 1;
    stale.bytes = empty.bytes = 0;
    reduction().arrived(stale, {});
    reduction().arrived(empty, {});
    const auto place = placed(frame(kind));
    reduction().arrived(frame(kind), place);
  }
  EXPECT_TRUE(failures().empty());
  EXPECT_TRUE(has_result());
}

class DenseForgeries : public Forgeries {
 protected:
  DenseForgeries() : Forgeries(false) {}
};

TEST_F(DenseForgeries, ThatAreSparseAreNotPlaced) {
  EXPECT_TRUE(reduction().place(frame(FrameKind::contribution)).empty());
  EXPECT_TRUE(reduction().place(frame(FrameKind::result)).empty());
}

}  // namespace
