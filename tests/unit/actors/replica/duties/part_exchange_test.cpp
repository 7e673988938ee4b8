#include "actors/replica/duties/part_exchange.hpp"

#include <gtest/gtest.h>

#include "tests/unit/actors/replica/duties/duty_context.hpp"

namespace muster::part_exchange_test {
namespace {

using testing::DutyContext;
using testing::last_as;

const PartTaken kPrepared{0, false, false, {}};
constexpr bool kGave = true, kComplete = true;

struct Exchanging : DutyContext {
  PartExchange parts{context};

  Exchanging() { context.trainer().job.train.shard_optimizer = true; }
};

TEST(PartExchange, TheRoundsBeginWhenAllIsGivenAndAllIsThere) {
  Exchanging replica;
  replica.parts.enter(nullptr);
  EXPECT_FALSE(replica.parts.deal().done());
  EXPECT_FALSE(replica.parts.on(kPrepared));
  replica.parts.begin();
  replica.parts.begin();
  EXPECT_EQ(replica.jobs->size(), 2u) << "once";
  EXPECT_FALSE(replica.parts.on(PartTaken{0, kGave, false, {}}));
  EXPECT_EQ(replica.activity(), Activity::reducing) << "it waits for others";
  replica.parts.take(TransferIn{});
  EXPECT_EQ(replica.activity(), Activity::updating);
  EXPECT_TRUE(replica.parts.on(PartTaken{0, false, kComplete, {}}));
  EXPECT_TRUE(replica.parts.deal().done());
}

TEST(PartExchange, AnAnswerOfAnEarlierTurnIsIgnored) {
  Exchanging replica;
  replica.parts.enter(nullptr);
  replica.context.turn = 1;
  EXPECT_FALSE(replica.parts.on(PartTaken{0, kGave, kComplete, "no"}));
  EXPECT_TRUE(replica.sent.node.empty());
  EXPECT_FALSE(replica.parts.deal().done());
}

TEST(PartExchange, AnErrorIsTrouble) {
  Exchanging replica;
  replica.parts.enter(nullptr);
  EXPECT_FALSE(replica.parts.on(PartTaken{0, false, false, "not what is expected"}));
  EXPECT_TRUE(last_as<Trouble>(replica.sent.node));
}

TEST(PartExchange, AViewTakesEffectWithItsFirstRecord) {
  Exchanging replica;
  replica.parts.enter(nullptr);
  EXPECT_TRUE(replica.parts.take_effect());
  EXPECT_EQ(replica.parts.deal().took(), 5u);
  EXPECT_EQ(replica.jobs->size(), 2u) << "the new part is the part from now on";
  EXPECT_FALSE(replica.parts.take_effect());
}

}  // namespace
}  // namespace muster::part_exchange_test
