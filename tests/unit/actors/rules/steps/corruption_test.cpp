// Who is wrong where replicas hold other bits, and what follows.
#include <gtest/gtest.h>

#include "actors/coordinator/states/next_view.hpp"
#include "actors/rules/steps/corruption.hpp"

namespace muster {
namespace {

using Slots = std::vector<std::uint32_t>;
using Act = Judgement::Act;

Suspects suspects(Bits bits, std::vector<Suspects::Opinion> opinions, bool all_compared = false) {
  return {bits, std::move(opinions), all_compared};
}

Member replica(std::uint32_t slot, std::set<std::uint32_t> holds_of) {
  Member member;
  member.name.slot = slot;
  member.holds_of = std::move(holds_of);
  return member;
}

TEST(Corruption, TheMajorityIsRight) {
  const auto three = suspects(Bits::weights, {{0, 0, {}}, {1, 1, {}}, {2, 0, {}}});
  EXPECT_EQ(odd_ones(three), Slots{1});
  const auto judged = judge_bits(three, OnCorruption::evict);
  EXPECT_EQ(judged.act, Act::evict);
  EXPECT_EQ(judged.odd, Slots{1});
  EXPECT_TRUE(judged.sure);
}

TEST(Corruption, OfTwoNobodyKnowsWhoIsRight) {
  const auto two = suspects(Bits::weights, {{0, 0, {}}, {1, 1, {}}});
  EXPECT_FALSE(odd_ones(two));
  EXPECT_EQ(judge_bits(two, OnCorruption::evict).act, Act::stop);
}

TEST(Corruption, WhoHasItsStateFromAnotherIsNoSecondWitness) {
  // 2 has the weights that 1 gave it: that is one against one.
  EXPECT_FALSE(odd_ones(suspects(Bits::weights, {{0, 0, {}}, {1, 1, {}}, {2, 1, {1}}})));
  // Where it differs from the one that gave it, it is.
  EXPECT_EQ(odd_ones(suspects(Bits::weights, {{0, 0, {}}, {1, 1, {}}, {2, 0, {1}}})), Slots{1});
  // Of the two that it has its state and its records from, one agrees with it.
  EXPECT_FALSE(odd_ones(suspects(Bits::weights, {{0, 0, {}}, {1, 0, {0}}, {3, 1, {0}}, {4, 1, {0, 3}}})));
  // Two that were fed by one that is gone are one witness.
  EXPECT_FALSE(odd_ones(suspects(Bits::weights, {{0, 0, {}}, {1, 1, {7}}, {2, 1, {7}}})));
}

TEST(Corruption, AGradientIsComputedAgainByAllOnce) {
  const auto pair = suspects(Bits::gradient, {{0, 0, {}}, {2, 2, {}}});
  EXPECT_EQ(judge_bits(pair, OnCorruption::evict).act, Act::again);
  const auto after = suspects(Bits::gradient, {{0, 0, {}}, {2, 2, {}}}, true);
  EXPECT_EQ(judge_bits(after, OnCorruption::evict).act, Act::stop);
}

TEST(Corruption, ANewcomerThatDiffersFromAllWhoWereThereIsOdd) {
  auto one_came = suspects(Bits::gradient, {{0, 0, {}}, {1, 1, {0}, true}});
  one_came.all_heard = true;
  EXPECT_EQ(judge_bits(one_came, OnCorruption::evict).act, Act::again);
  one_came.all_compared = true;
  EXPECT_EQ(judge_bits(one_came, OnCorruption::evict).act, Act::evict);
  EXPECT_EQ(judge_bits(one_came, OnCorruption::evict).odd, Slots{1});
  EXPECT_FALSE(judge_bits(one_came, OnCorruption::evict).sure);
  one_came.all_heard = false;  // a third one could not be asked
  EXPECT_EQ(judge_bits(one_came, OnCorruption::evict).act, Act::stop);
}

TEST(Corruption, AmongNewcomersOnlyNobodyIsOdd) {
  auto all_new = suspects(Bits::gradient, {{0, 0, {}, true}, {1, 1, {}, true}}, true);
  all_new.all_heard = true;
  EXPECT_EQ(judge_bits(all_new, OnCorruption::evict).act, Act::stop);
  auto two_minds =
      suspects(Bits::gradient, {{0, 0, {}}, {1, 1, {}}, {2, 0, {0}, true}, {3, 1, {1}, true}}, true);
  two_minds.all_heard = true;
  EXPECT_EQ(judge_bits(two_minds, OnCorruption::evict).act, Act::stop);
}

TEST(Corruption, ThePolicyIsTheJobs) {
  const auto three = suspects(Bits::weights, {{0, 0, {}}, {1, 1, {}}, {2, 0, {}}});
  EXPECT_EQ(judge_bits(three, OnCorruption::report).act, Act::report);
  const auto stopped = judge_bits(three, OnCorruption::stop);
  EXPECT_EQ(stopped.act, Act::stop);
  EXPECT_EQ(stopped.odd, Slots{1});
}

TEST(Corruption, WhoReadsItsStateFromTheDiskHasItOfNobody) {
  View view;
  view.number = 3;
  view.source.view = 2;
  view.replicas = {replica(0, {}), replica(1, {0})};
  name_givers(view, true);
  EXPECT_EQ(view.replicas[1].holds_of, std::set<std::uint32_t>{0});
  view.source.view = 0;
  name_givers(view, false);
  EXPECT_EQ(view.replicas[1].holds_of, std::set<std::uint32_t>{0});
  name_givers(view, true);
  EXPECT_EQ(view.replicas[1].holds_of, std::set<std::uint32_t>{});
}

TEST(Corruption, WhoIsGivenRecordsStillHoldsTheStateThatAnotherGaveIt) {
  View view;
  view.donor = 0;
  view.source.view = 2;
  view.behind = {{0, 1}, {2, 1}};
  view.replicas = {replica(0, {}), replica(1, {}), replica(2, {1})};
  name_givers(view, false);
  EXPECT_EQ(view.replicas[0].holds_of, std::set<std::uint32_t>{});
  EXPECT_EQ(view.replicas[2].holds_of, (std::set<std::uint32_t>{0, 1}));
}

}  // namespace
}  // namespace muster
