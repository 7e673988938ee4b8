#include "actors/replica/states/step/proof.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::uint32_t kSelf = 1;

View view_of(std::vector<std::uint32_t> unproven) {
  View view;
  for (const std::uint32_t slot : {0u, 1u, 2u}) {
    Member member;
    member.name.slot = slot;
    member.clean = 4;
    view.replicas.push_back(member);
  }
  view.unproven = std::move(unproven);
  return view;
}

// A step in which these shards had samples.
RoundRecord step(std::uint64_t number, const std::vector<std::uint32_t>& shards) {
  RoundRecord record;
  record.step = number;
  for (const std::uint32_t shard : shards) {
    ShardReport word;
    word.shard = shard;
    word.rows = 1;
    record.shards.push_back(word);
  }
  return record;
}

using SlotSet = std::set<std::uint32_t>;

TEST(Proof, AMemberIsProvenOnceItsGradientWasCompared) {
  Proof proof;
  proof.enter(view_of({1, 2}), kSelf);
  EXPECT_FALSE(proof.own());
  EXPECT_EQ(proof.to_compare(5), (SlotSet{1, 2}));
  const std::vector<Audit> audits{{1, 0, {10}}, {2, 0, {20}}};
  proof.count(step(5, {20}), audits);
  EXPECT_EQ(proof.to_compare(6), (SlotSet{1})) << "shard 10 had no samples";
  EXPECT_FALSE(proof.own());
  proof.count(step(6, {10, 20}), audits);
  EXPECT_EQ(proof.to_compare(7), SlotSet{});
  EXPECT_TRUE(proof.own());
  proof.forget_own();
  EXPECT_FALSE(proof.own());
}

TEST(Proof, AMemberThatCannotBeComparedIsAsGoodAsTheOthers) {
  Proof proof;
  proof.enter(view_of({1, 2}), kSelf);
  proof.count(step(5, {10, 20}), {{2, 0, {}}});
  EXPECT_EQ(proof.to_compare(6), SlotSet{});
  EXPECT_TRUE(proof.own());
}

TEST(Proof, BothSidesOfAnAuditAreRightUpToItsStep) {
  Proof proof;
  proof.enter(view_of({}), kSelf);
  EXPECT_TRUE(proof.own());
  EXPECT_FALSE(proof.count(step(5, {10}), {})) << "most steps have nothing to tell";
  EXPECT_TRUE(proof.count(step(6, {10}), {{2, 0, {10}}}));
  EXPECT_EQ(proof.clean(), (std::vector<std::uint64_t>{6, 4, 6}));
  EXPECT_FALSE(proof.count(step(6, {10}), {{2, 0, {10}}})) << "told already";
  EXPECT_FALSE(proof.count(step(7, {11}), {{2, 0, {10}}})) << "shard 10 had no samples";
}

TEST(Proof, AStateThatIsRightUntilTheViewIsSoBeforeItsFirstStep) {
  View view = view_of({});
  view.replicas[2].clean = kCleanUntilView;
  Proof proof;
  proof.enter(view, kSelf);
  EXPECT_TRUE(proof.count(step(9, {10}), {}));
  EXPECT_EQ(proof.clean(), (std::vector<std::uint64_t>{4, 4, 8}));
}

}  // namespace
}  // namespace muster
