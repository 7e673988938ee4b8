// A sharded optimizer: who holds what, what moves between views, and that its bits are those of a whole one.
#include "actors/trainer/optimizer_part.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "actors/checkpoint/snapshot.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "muster/error.hpp"
#include "tests/support/random_values.hpp"
#include "tests/unit/actors/trainer/part_holders.hpp"

namespace {

using namespace muster;
using oracle::RandomValues;

TEST(Buddies, AreOnOtherHostsWhereThereAreSome) {
  EXPECT_EQ(buddies({"a"}), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(buddies({"a", "a", "a"}), (std::vector<std::uint32_t>{1, 2, 0}));
  EXPECT_EQ(buddies({"a", "a", "b", "b"}), (std::vector<std::uint32_t>{2, 3, 0, 1}));
  EXPECT_EQ(buddies({"a", "a", "b", "b", "c", "c"}), (std::vector<std::uint32_t>{2, 3, 4, 5, 0, 1}));
  EXPECT_EQ(buddies({"a", "a", "a", "b"}), (std::vector<std::uint32_t>{3, 3, 3, 0}));
}

TEST(Buddies, OnHostsOfOneSizeEachIsTheBuddyOfOne) {
  for (std::uint32_t hosts = 2; hosts <= 5; ++hosts) {
    for (std::uint32_t each = 1; each <= 4; ++each) {
      std::vector<std::string> names;
      for (std::uint32_t i = 0; i < hosts * each; ++i) names.push_back("host " + std::to_string(i / each));
      const auto result = buddies(names);
      EXPECT_EQ(std::set(result.begin(), result.end()).size(), result.size()) << hosts << " of " << each;
      for (std::uint32_t i = 0; i < result.size(); ++i) EXPECT_NE(names[i], names[result[i]]);
    }
  }
}

TEST(Buddies, WithinHostsAreOnesOwnWhereNobodyElseIs) {
  EXPECT_EQ(buddies_within_hosts({"a"}), (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(buddies_within_hosts({"a", "b", "a", "a", "b", "c"}),
            (std::vector<std::uint32_t>{2, 4, 3, 0, 1, 5}));
}

std::vector<PartHolder> random_holders(RandomValues& random) {
  std::set<std::uint32_t> slots;
  while (slots.size() < 1 + random.below(6) || slots.empty())
    slots.insert(static_cast<std::uint32_t>(random.below(8)));
  const std::vector<std::uint32_t> owners(slots.begin(), slots.end());
  std::vector<PartHolder> holders;
  for (std::size_t i = 0; i < owners.size(); ++i)
    holders.push_back({owners[i], owners[(i + 1) % owners.size()], 0, 0});
  return holders;
}

// Every element below `parameters` comes once to each of its new holders, from one that has it and is there.
TEST(PartMoves, BringEverythingToItsNewHoldersOnce) {
  RandomValues random(3);
  for (int turn = 0; turn < 500; ++turn) {
    const std::size_t elements = random.below(400), parameters = random.below(elements + 1);
    const auto before = random_holders(random), after = random_holders(random);
    const auto source = part_tiles(elements, random.below(100), before);
    const auto target = part_tiles(elements, random.below(100), after);
    std::set<std::uint32_t> present = slots_of(after);
    std::set<std::uint32_t> left;
    for (const std::uint32_t slot : slots_of(before)) {
      if (present.contains(slot)) left.insert(slot);
    }
    const bool lost = lost_part({1, before, {}, 0, 0}, left).has_value();
    if (lost) continue;
    std::map<std::pair<std::uint32_t, std::size_t>, int> came;  // by receiver and element
    std::size_t last = 0;
    for (const PartMove& move : part_moves(source, target, present, parameters)) {
      ASSERT_GE(move.elements.begin, last);
      last = move.elements.begin;
      for (std::size_t i = move.elements.begin; i < move.elements.end; ++i) {
        const auto held_by = [&](const std::vector<PartTile>& tiles, std::uint32_t slot) {
          return std::any_of(tiles.begin(), tiles.end(), [&](const PartTile& tile) {
            return tile.elements.begin <= i && i < tile.elements.end &&
                   (tile.holder.owner == slot || tile.holder.buddy == slot);
          });
        };
        ASSERT_TRUE(left.contains(move.from) && held_by(source, move.from));
        ASSERT_TRUE(held_by(target, move.to));
        ASSERT_LE(++came[std::pair(move.to, i)], 1);
      }
    }
    std::size_t wanted = 0;
    for (const PartTile& tile : target) {
      const auto count = std::min(tile.elements.end, parameters) - std::min(tile.elements.begin, parameters);
      wanted += count * (tile.holder.owner == tile.holder.buddy ? 1 : 2);
    }
    ASSERT_EQ(came.size(), wanted) << "turn " << turn;
  }
}

TEST(PartMoves, LongOnesAreCut) {
  const std::size_t elements = 3 * PartMove::kElementsMax + 5;
  const auto moves = parts_for(0, part_tiles(elements, 0, {{1, 1, 0, 0}}), elements);
  ASSERT_EQ(moves.size(), 4u);
  EXPECT_EQ(moves.back().elements.count(), 5u);
}

TEST(LostPart, IsOneWithoutAnyHolder) {
  const PartSource source{4, {{0, 1, 0, 0}, {1, 2, 0, 0}, {2, 0, 0, 0}}, {}, 0, 0};
  EXPECT_FALSE(lost_part(source, {0, 1}));
  EXPECT_EQ(lost_part(source, {0}), (PartHolder{1, 2, 0, 0}));
  EXPECT_FALSE(lost_part({}, {})) << "what is on disk is not lost";
}

TEST(PartSource, IsTheLastViewThatTookEffect) {
  View view;
  view.number = 7;
  view.source = {5, {{0, 1, 0, 4}, {1, 0, 4, 8}}, "manifest", 3, 2};
  view.replicas.resize(1);
  view.replicas[0].begin = 2;
  view.replicas[0].end = 6;
  EXPECT_EQ(source_after(view, 5), view.source);
  EXPECT_EQ(source_after(view, 7), (PartSource{7, {{0, 0, 2, 6}}, "manifest", 3, 2}));
}

// ---- the vectors themselves

OptimizerConfig config_of(OptimizerKind kind) {
  OptimizerConfig config;
  config.kind = kind;
  config.weight_decay = 0.01;
  config.learning_rate.initial = 0.05;
  if (kind == OptimizerKind::sgd) config.momentum = 0.9;
  return config;
}

struct Held {
  std::vector<float> state;
  std::unique_ptr<OptimizerPart> part;
};

class Cluster {
 public:
  Cluster(OptimizerConfig config, std::size_t elements, std::size_t parameters)
      : config_(config), parameters_(parameters), state_(elements, 0.5f) {}

  void enter(const std::vector<PartHolder>& holders, std::size_t bucket) {
    const auto tiles = part_tiles(state_.size(), bucket, holders);
    std::map<std::uint32_t, Held> next;
    for (const std::uint32_t slot : slots_of(holders)) {
      Held& held = next[slot];
      held.state = state_;
      held.part = std::make_unique<OptimizerPart>(
          tiles, slot, parameters_, held.state,
          [config = config_](std::size_t count) { return make_optimizer(config, count); });
      held.part->prepare(nullptr);
    }
    std::erase_if(held_, [&](const auto& one) { return !next.contains(one.first); });  // they are lost
    if (!held_.empty()) {
      const auto moves = part_moves(tiles_, tiles, slots_of(holders), parameters_);
      for (auto& [slot, held] : next) {
        auto wanted = moves;
        std::erase_if(wanted, [to = slot](const PartMove& move) { return move.to != to; });
        held.part->expect(wanted);
      }
      for (const PartMove& move : moves)
        next.at(move.to).part->take(held_.at(move.from).part->give(move.elements));
    }
    for (auto& [slot, held] : next) EXPECT_TRUE(held.part->complete());
    held_ = std::move(next);
    tiles_ = tiles;
  }

  // As the reduction does it: in chunks, and some steps are given up on the way.
  void step(std::uint64_t step, const std::vector<float>& mean, bool given_up) {
    for (auto& [slot, held] : held_) held.part->begin(step);
    std::vector<float> result(state_.size());
    for (const PartTile& tile : tiles_) {
      for (std::size_t begin = tile.elements.begin; begin < tile.elements.end; begin += 7) {
        const ElementRange chunk{begin, std::min(begin + 7, tile.elements.end)};
        for (const std::uint32_t slot : std::set{tile.holder.owner, tile.holder.buddy}) {
          OptimizerPart& part = *held_.at(slot).part;
          std::copy_n(mean.begin() + static_cast<long>(begin), chunk.count(), part.gradient(chunk));
          part.kept(chunk);
        }
        held_.at(tile.holder.owner).part->result(chunk, result.data() + begin);
      }
    }
    if (given_up) return;
    for (auto& [slot, held] : held_) {
      held.part->commit(step, {});
      std::copy(result.begin(), result.end(), held.state.begin());
    }
    state_ = result;
  }

  Snapshot whole() const {
    auto snapshot = std::make_shared<Snapshot>();
    const auto& first = *held_.begin();
    first.second.part->copy_into(*snapshot);
    const auto moves = parts_for(first.first, tiles_, parameters_);
    GatheredParts gathered(snapshot, {0, snapshot->slots.size(), parameters_}, moves, first.first);
    for (const PartMove& move : moves) {
      if (move.from != first.first) gathered.take(held_.at(move.from).part->give(move.elements));
    }
    EXPECT_TRUE(gathered.complete());
    return *snapshot;
  }

  const std::vector<float>& state() const { return state_; }
  std::map<std::uint32_t, Held>& held() { return held_; }

 private:
  OptimizerConfig config_;
  std::size_t parameters_;
  std::vector<float> state_;
  std::vector<PartTile> tiles_;
  std::map<std::uint32_t, Held> held_;
};

class OptimizerParts : public ::testing::TestWithParam<OptimizerKind> {};

TEST_P(OptimizerParts, GiveTheBitsOfTheWholeOneWhoeverHoldsThem) {
  constexpr std::size_t kElements = 333, kParameters = 300;
  RandomValues random(17);
  for (int turn = 0; turn < 20; ++turn) {
    Cluster cluster(config_of(GetParam()), kElements, kParameters);
    const auto whole = make_optimizer(config_of(GetParam()), kParameters);
    std::vector<float> state(kElements, 0.5f);
    std::uint64_t step = 0;
    std::vector<PartHolder> holders;
    for (int view = 0; view < 5; ++view) {
      const auto before = holders;
      do {
        holders = random_holders(random);
      } while (view > 0 && lost_part({1, before, {}, 0, 0}, slots_of(holders)));
      cluster.enter(holders, random.below(200));
      for (int i = 0; i < 3; ++i) {
        const auto mean = random.values(kElements);
        ++step;
        while (random.chance(30)) cluster.step(step, random.values(kElements), true);
        cluster.step(step, mean, false);
        whole->update(step, std::span(state).first(kParameters), std::span(mean).first(kParameters));
        for (std::size_t e = kParameters; e < kElements; ++e) state[e] += mean[e];
        ASSERT_EQ(cluster.state(), state) << "step " << step;
      }
      const Snapshot snapshot = cluster.whole();
      const auto slots = whole->slots();
      ASSERT_EQ(snapshot.slots.size(), slots.size());
      for (std::size_t i = 0; i < slots.size(); ++i) {
        EXPECT_EQ(snapshot.slots[i].name, slots[i].name);
        ASSERT_TRUE(std::equal(slots[i].values.begin(), slots[i].values.end(),
                               snapshot.slots[i].values.begin(), snapshot.slots[i].values.end()));
      }
      // And back from it.
      for (auto& [slot, held] : cluster.held()) held.part->fill_from(snapshot);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerParts,
                         ::testing::Values(OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw));

TEST(OptimizerPart, TakesWhatItWaitsForAndNothingElse) {
  const std::vector<float> state(64, 1.0f);
  const auto make = [](std::size_t count) { return make_optimizer(config_of(OptimizerKind::adam), count); };
  OptimizerPart one(part_tiles(64, 0, {{0, 0, 0, 0}}), 0, 64, state, make);
  OptimizerPart other(part_tiles(64, 0, {{0, 0, 0, 0}}), 0, 64, state, make);
  one.prepare(nullptr);
  other.prepare(nullptr);
  other.expect({{0, 0, {0, 32}}});
  EXPECT_FALSE(other.complete());
  EXPECT_THROW(other.take(one.give({0, 16})), Error);
  EXPECT_THROW(other.take(one.give({32, 64})), Error);
  auto damaged = one.give({0, 32});
  damaged.pop_back();
  EXPECT_THROW(other.take(damaged), Error);
  other.take(one.give({0, 32}));
  EXPECT_TRUE(other.complete());
  const auto held = other.give({0, 32});
  auto again = held;
  again.back() ^= std::byte{1};
  other.take(again);
  EXPECT_EQ(other.give({0, 32}), held) << "what comes twice counts once";
}

TEST(OptimizerPart, FollowsNoStepWhoseGradientsAreNotThere) {
  const std::vector<float> state(32, 1.0f);
  OptimizerPart part(part_tiles(32, 0, {{0, 0, 0, 0}}), 0, 32, state,
                     [](std::size_t count) { return make_optimizer(config_of(OptimizerKind::adam), count); });
  part.prepare(nullptr);
  part.begin(1);
  part.kept({0, 16});
  EXPECT_THROW(part.commit(1, {}), Error);
  part.kept({16, 32});
  EXPECT_THROW(part.commit(2, {}), Error);
  part.commit(1, {});
  EXPECT_THROW(part.commit(1, {}), Error) << "twice";
}

}  // namespace
