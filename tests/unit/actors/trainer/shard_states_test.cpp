// The states of shards: dealt from view to view, given up with a step, kept in checkpoints.
#include "actors/trainer/shard_states.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "actors/checkpoint/snapshot.hpp"
#include "muster/error.hpp"
#include "tests/support/random_values.hpp"
#include "tests/unit/actors/trainer/part_holders.hpp"

namespace {

using namespace muster;
using oracle::RandomValues;

constexpr std::uint32_t kShards = 6;
constexpr std::size_t kElements = 40;

std::vector<ShardReport> all_present() {
  std::vector<ShardReport> reports(kShards);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    reports[shard].shard = shard;
    reports[shard].rows = 1;
  }
  return reports;
}

std::vector<PartHolder> random_dealing(RandomValues& random) {
  std::set<std::uint32_t> slots;
  while (slots.empty() || slots.size() < random.below(5))
    slots.insert(static_cast<std::uint32_t>(random.below(8)));
  const std::vector<std::uint32_t> owners(slots.begin(), slots.end());
  const auto split = random.split(kShards, static_cast<std::uint32_t>(owners.size()));
  std::vector<PartHolder> holders;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    holders.push_back({owners[i], owners[(i + 1) % owners.size()], begin, begin + split[i]});
    begin += split[i];
  }
  return holders;
}

/// What all replicas hold together, beside the states as they should be.
class States {
 public:
  explicit States(Wire wire)
      : shape_{kShards, kElements, 0.2, wire}, right_(kShards, std::vector<float>(kElements)) {}

  void enter(const std::vector<PartHolder>& holders) {
    std::map<std::uint32_t, std::unique_ptr<ShardStates>> next;
    const auto moves = holders_.empty()
                           ? std::vector<PartMove>{}
                           : part_moves(state_tiles(shape_, holders_), state_tiles(shape_, holders),
                                        slots_of(holders), kShards * kElements);
    for (const std::uint32_t slot : slots_of(holders)) {
      auto& states = next[slot] = std::make_unique<ShardStates>(shape_, holders, slot);
      const auto before = held_.find(slot);
      states->prepare(before == held_.end() ? nullptr : before->second.get());
      auto wanted = moves;
      std::erase_if(wanted, [to = slot](const PartMove& move) { return move.to != to; });
      states->expect(wanted);
    }
    for (const PartMove& move : moves) {
      if (next.at(move.to)->keeps(move.elements)) continue;
      next.at(move.to)->take(held_.at(move.from)->give(move.elements));
    }
    for (const auto& [slot, states] : next) EXPECT_TRUE(states->complete());
    held_ = std::move(next);
    holders_ = holders;
  }

  // One that is given up leaves no trace.
  void step(std::uint64_t step, RandomValues& random, bool given_up) {
    TopK compressor(kElements, shape_.ratio);
    auto reports = all_present();
    auto after = right_;
    for (const PartHolder& holder : holders_) {
      for (std::uint32_t shard = holder.begin; shard < holder.end; ++shard) {
        if (random.chance(20)) {
          reports[shard].ended = 1;
          continue;
        }
        std::vector<float> gradient = random.values(kElements), exact = gradient;
        held_.at(holder.owner)->compress(shard, step, gradient);
        compressor.compress(exact, right_[shard], after[shard]);
        for (std::size_t i = 0; i < kElements; ++i) after[shard][i] += exact[i] - gradient[i];
        if (holder.buddy == holder.owner) continue;
        const auto made = held_.at(holder.owner)->made(shard);
        const auto copy = held_.at(holder.buddy)->copy(shard);
        std::copy(made.begin(), made.end(), copy.begin());
        held_.at(holder.buddy)->kept(shard, step);
      }
    }
    if (given_up) return;
    for (const auto& [slot, states] : held_) states->commit(step, reports);
    right_ = after;
  }

  Snapshot whole() const {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->slots.push_back({"momentum", std::vector<float>(kElements, 9.0f)});
    const auto& [writer, own] = *held_.begin();
    own->copy_into(*snapshot);
    const auto moves = parts_for(writer, state_tiles(shape_, holders_), kShards * kElements);
    GatheredParts gathered(snapshot, {1, 1, kElements}, moves, writer);
    for (const PartMove& move : moves) {
      if (move.from != writer) gathered.take(held_.at(move.from)->give(move.elements));
    }
    EXPECT_TRUE(gathered.complete());
    return *snapshot;
  }

  void expect_right() const {
    for (const PartHolder& holder : holders_) {
      for (std::uint32_t shard = holder.begin; shard < holder.end; ++shard) {
        for (const std::uint32_t slot : {holder.owner, holder.buddy}) {
          const auto bytes = held_.at(slot)->give({shard * kElements, (shard + 1) * kElements});
          ASSERT_EQ(decode_given(bytes, 1).vectors[0], right_[shard]) << "shard " << shard << " at " << slot;
        }
      }
    }
  }

  const std::vector<std::vector<float>>& right() const { return right_; }
  const std::vector<PartHolder>& holders() const { return holders_; }
  std::map<std::uint32_t, std::unique_ptr<ShardStates>>& held() { return held_; }

 private:
  StatesShape shape_;
  std::vector<std::vector<float>> right_;
  std::vector<PartHolder> holders_;
  std::map<std::uint32_t, std::unique_ptr<ShardStates>> held_;
};

TEST(ShardStates, AreTheSameWhoeverHoldsThem) {
  for (const WireType type : {WireType::float32, WireType::bfloat16}) {
    RandomValues random(23);
    for (int turn = 0; turn < 30; ++turn) {
      States cluster(Wire{type, 0});
      std::uint64_t step = 0;
      for (int view = 0; view < 6; ++view) {
        const auto before = cluster.holders();
        std::vector<PartHolder> holders;
        do {
          holders = random_dealing(random);
        } while (view > 0 && lost_part({1, before, {}, 0, 0}, slots_of(holders)));
        cluster.enter(holders);
        for (int i = 0; i < 3; ++i) {
          ++step;
          while (random.chance(30)) cluster.step(step, random, true);
          cluster.step(step, random, false);
          cluster.expect_right();
        }
        const Snapshot snapshot = cluster.whole();
        ASSERT_EQ(snapshot.slots.size(), 1 + kShards);
        EXPECT_EQ(snapshot.slots[0].name, "momentum");
        for (std::uint32_t shard = 0; shard < kShards; ++shard) {
          EXPECT_EQ(snapshot.slots[1 + shard].name, state_slot(shard));
          EXPECT_EQ(snapshot.slots[1 + shard].values, cluster.right()[shard]);
        }
        for (auto& [slot, states] : cluster.held()) states->fill_from(snapshot);
        cluster.expect_right();
      }
    }
  }
}

TEST(ShardStates, FollowNoStepWithoutTheStatesThatItMakes) {
  ShardStates states({2, 4, 0.5, {}}, {{0, 1, 0, 1}, {1, 0, 1, 2}}, 0);
  states.prepare(nullptr);
  std::vector<ShardReport> reports(2);
  reports[0].rows = reports[1].rows = 1;
  reports[1].shard = 1;
  std::vector<float> gradient{1, 2, 3, 4};
  states.compress(0, 1, gradient);
  EXPECT_THROW(states.commit(1, reports), Error) << "the copy of shard 1 has not come";
  states.compress(0, 1, gradient);
  states.kept(1, 1);
  states.commit(1, reports);
  EXPECT_THROW(states.commit(1, reports), Error) << "twice";
}

TEST(ShardStates, WhatMayStillBeWrittenToIsNotUsedAgain) {
  ShardStates states({2, 4, 0.5, {}}, {{1, 0, 0, 2}, {0, 1, 2, 2}}, 0);
  states.prepare(nullptr);
  const float* const before = states.copy(1).data();
  states.kept(1, 3);
  states.abandoned(1);
  EXPECT_NE(states.copy(1).data(), before);
}

TEST(ShardStates, ACheckpointWithoutThemIsRefused) {
  ShardStates states({1, 4, 0.5, {}}, {{0, 0, 0, 1}}, 0);
  states.prepare(nullptr);
  EXPECT_THROW(states.fill_from(Snapshot{}), Error);
}

}  // namespace
