#include <gtest/gtest.h>

#include <random>

#include "actors/rules/watch/complaints.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

NodeName replica_at(std::uint32_t slot) {
  return {false, slot};
}

// Parties 0, 1, ... with these numbers of shards.
std::vector<Party> parties(const std::vector<std::uint32_t>& shards) {
  std::vector<Party> all;
  for (std::uint32_t slot = 0; slot < shards.size(); ++slot) all.push_back({replica_at(slot), shards[slot]});
  return all;
}

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
std::vector<Complaint> complaints(const Pairs& pairs) {
  std::vector<Complaint> all;
  for (const auto& [by, about] : pairs) all.emplace_back(replica_at(by), replica_at(about));
  return all;
}

std::vector<std::uint32_t> evicted(const std::vector<std::uint32_t>& shards, const Pairs& pairs) {
  std::vector<std::uint32_t> slots;
  for (const NodeName& name : fewest_to_evict(parties(shards), complaints(pairs))) slots.push_back(name.slot);
  return slots;
}

using Slots = std::vector<std::uint32_t>;

TEST(FewestToEvict, NobodyWhereNobodyComplains) {
  EXPECT_EQ(evicted({2, 2, 2}, {}), Slots{});
  EXPECT_EQ(evicted({2, 2}, {{0, 7}, {1, 1}}), Slots{}) << "of one who is gone, of itself";
}

TEST(FewestToEvict, OneLinkTakesTheOneWithFewerShardsThenTheHigherNumber) {
  EXPECT_EQ(evicted({2, 2, 2, 2}, {{1, 2}}), Slots{2});
  EXPECT_EQ(evicted({2, 2, 2, 2}, {{2, 1}}), Slots{2}) << "whoever complains";
  EXPECT_EQ(evicted({2, 2, 2, 2}, {{1, 2}, {2, 1}}), Slots{2}) << "or both";
  EXPECT_EQ(evicted({2, 1, 2, 2}, {{1, 2}}), Slots{1});
}

TEST(FewestToEvict, WhoAllComplainOfGoesEvenWithManyShards) {
  EXPECT_EQ(evicted({9, 1, 1, 1}, {{1, 0}, {2, 0}, {3, 0}}), Slots{0});
  EXPECT_EQ(evicted({1, 1, 9, 1}, {{2, 0}, {2, 1}, {2, 3}}), Slots{2}) << "or who complains of all";
}

TEST(FewestToEvict, ATwoTwoCutTakesTwo) {
  EXPECT_EQ(evicted({2, 2, 2, 2}, {{0, 2}, {0, 3}, {1, 2}, {1, 3}}), (Slots{2, 3}));
  EXPECT_EQ(evicted({1, 2, 2, 2}, {{0, 2}, {0, 3}, {1, 2}, {1, 3}}), (Slots{0, 1}));
}

TEST(FewestToEvict, WhoseDataPlaneStandsStillGoesWhateverItHolds) {
  auto all = parties({3, 2, 2});
  all[0].stands_still = true;
  EXPECT_EQ(fewest_to_evict(all, complaints({{1, 0}})), std::vector{replica_at(0)}) << "with more shards";
  EXPECT_EQ(fewest_to_evict(all, complaints({{1, 2}})), std::vector{replica_at(2)})
      << "nobody complains of it";
  all[2].stands_still = true;
  EXPECT_EQ(fewest_to_evict(all, complaints({{1, 0}, {1, 2}})), (std::vector{replica_at(0), replica_at(2)}))
      << "rather than the one that both have to do with";
  all[1].stands_still = true;
  EXPECT_EQ(fewest_to_evict(all, complaints({{1, 0}, {1, 2}})), std::vector{replica_at(1)})
      << "but never all";
}

TEST(FewestToEvict, NobodyGoesForALoaderThatIsNeededAndStandsStill) {
  auto all = parties({2, 2});
  all.push_back({NodeName{true, 0}, kNeeded, true});
  const std::vector<Complaint> starves{{replica_at(1), NodeName{true, 0}}};
  EXPECT_EQ(fewest_to_evict(all, starves), std::vector<NodeName>{});
  all.back().shards = 0;
  EXPECT_EQ(fewest_to_evict(all, starves), (std::vector{NodeName{true, 0}})) << "there are others";
  all.back() = {NodeName{true, 0}, kNeeded, false};
  EXPECT_EQ(fewest_to_evict(all, starves), std::vector{replica_at(1)}) << "their link is broken";
}

TEST(FewestToEvict, SeparateQuarrelsAreSettledEachForItself) {
  EXPECT_EQ(evicted({1, 1, 1, 1, 1}, {{0, 1}, {3, 4}}), (Slots{1, 4}));
}

TEST(FewestToEvict, AChainTakesItsMiddle) {
  EXPECT_EQ(evicted({1, 1, 1, 1, 1}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}), (Slots{1, 3}));
}

bool settles(const Pairs& pairs, const Slots& slots) {
  return std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
    return std::count(slots.begin(), slots.end(), pair.first) +
               std::count(slots.begin(), slots.end(), pair.second) >
           0;
  });
}

// Every subset, the plain way.
Slots by_trying_all(const std::vector<std::uint32_t>& shards, const Pairs& pairs) {
  std::optional<std::tuple<std::size_t, std::uint64_t, Slots>> best;
  for (std::uint32_t set = 0; set < (1u << shards.size()); ++set) {
    Slots slots;
    std::uint64_t sum = 0;
    for (std::uint32_t slot = 0; slot < shards.size(); ++slot) {
      if ((set >> slot & 1) == 0) continue;
      slots.push_back(slot);
      sum += shards[slot];
    }
    if (!settles(pairs, slots)) continue;
    // Higher numbers first: compared from the highest down, the greater one is better.
    Slots negated;
    for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) negated.push_back(~*slot);
    const auto cost = std::tuple(slots.size(), sum, negated);
    if (!best || cost < *best) best = cost;
  }
  Slots slots;
  const Slots& negated = std::get<2>(*best);
  for (auto slot = negated.rbegin(); slot != negated.rend(); ++slot) slots.push_back(~*slot);
  return slots;
}

TEST(FewestToEvict, IsTheBestOfAllChoicesOnRandomQuarrels) {
  std::mt19937 random(17);
  for (int round = 0; round < 600; ++round) {
    std::vector<std::uint32_t> shards(2 + random() % 8);
    for (auto& each : shards) each = 1 + random() % 3;
    Pairs pairs;
    for (std::uint32_t a = 0; a < shards.size(); ++a) {
      for (std::uint32_t b = 0; b < shards.size(); ++b) {
        if (a != b && random() % 5 == 0) pairs.emplace_back(a, b);
      }
    }
    ASSERT_EQ(evicted(shards, pairs), by_trying_all(shards, pairs)) << "round " << round;
  }
}

TEST(FewestToEvict, AnExactGroupOfTheLargestSizeIsDecided) {
  // A ring, in which no member stands out: half of it goes.
  Pairs ring;
  for (std::uint32_t i = 0; i < kExactPartiesMax; ++i) ring.emplace_back(i, (i + 1) % kExactPartiesMax);
  const std::vector<std::uint32_t> shards(kExactPartiesMax, 1);
  EXPECT_EQ(evicted(shards, ring).size(), kExactPartiesMax / 2);
}

TEST(FewestToEvict, ALargeGroupIsSettledWithAtMostTwiceTheFewest) {
  // 40 hosts behind 3 bad switches: the three of them are the fewest.
  std::vector<std::uint32_t> shards(43, 1);
  Pairs pairs;
  for (std::uint32_t host = 3; host < 43; ++host) {
    for (std::uint32_t bad = 0; bad < 3; ++bad) pairs.emplace_back(host, bad);
  }
  const Slots slots = evicted(shards, pairs);
  EXPECT_TRUE(settles(pairs, slots));
  EXPECT_LE(slots.size(), 6u);
  EXPECT_GE(slots.size(), 3u);
}

TEST(ComplaintBook, WaitsForTheWindowAndForAReportOfAllConcerned) {
  ComplaintBook book(milliseconds(200));
  const auto alive = parties({2, 2, 2});
  std::map<NodeName, milliseconds> heard{{replica_at(0), milliseconds(1000)},
                                         {replica_at(1), milliseconds(1000)},
                                         {replica_at(2), milliseconds(1000)}};
  const auto last_heard = [&](const NodeName& name) { return heard.at(name); };
  book.add(replica_at(0), replica_at(1), "no frame for 1000 ms", milliseconds(1010));
  EXPECT_TRUE(book.judge(alive, last_heard, milliseconds(1100)).empty()) << "within the window";
  book.add(replica_at(2), replica_at(1), "a send to it failed", milliseconds(1150));
  EXPECT_TRUE(book.judge(alive, last_heard, milliseconds(1250)).empty()) << "replica 1 may be dead";
  for (auto& [name, when] : heard) when = milliseconds(1220);
  const auto evictions = book.judge(alive, last_heard, milliseconds(1260));
  ASSERT_EQ(evictions.size(), 1u);
  EXPECT_EQ(evictions[0].name, replica_at(1));
  EXPECT_EQ(evictions[0].by, "replica 0, replica 2");
  EXPECT_EQ(evictions[0].other, replica_at(0)) << "the reason is of this link";
  EXPECT_EQ(evictions[0].reason,
            "the link between replica 1 and replica 0 is broken (replica 0: no frame for 1000 ms); without "
            "replica 1 the fewest replicas are lost");
}

// Of three links between three, two replicas go: each for a link of its own.
TEST(ComplaintBook, ALinkIsTheReasonForOneOfItsEnds) {
  ComplaintBook book(milliseconds(200));
  for (const auto& [by, about] : {std::pair{1u, 2u}, {0u, 1u}, {2u, 0u}})
    book.add(replica_at(by), replica_at(about), "the connection was reset", milliseconds(0));
  const auto evictions = book.judge(
      parties({2, 1, 1}), [](const NodeName&) { return milliseconds(300); }, milliseconds(300));
  ASSERT_EQ(evictions.size(), 2u);
  for (const auto& eviction : evictions) {
    EXPECT_NE(eviction.name, replica_at(0)) << "it has the most shards";
    EXPECT_EQ(eviction.other, replica_at(0));
    EXPECT_EQ(eviction.reason.rfind("the link between " + eviction.name.text() + " and replica 0 ", 0), 0u)
        << eviction.reason;
  }
}

TEST(ComplaintBook, WhatWasSaidOfANeededLoaderThatStoodStillIsForgotten) {
  ComplaintBook book(milliseconds(100));
  const NodeName loader{true, 0};
  auto alive = parties({2, 2});
  alive.push_back({loader, kNeeded, true});
  const auto judge = [&] {
    return book.judge(
        alive, [](const NodeName&) { return milliseconds(999); }, milliseconds(999));
  };
  book.add(replica_at(1), loader, "no frame for 1000 ms", milliseconds(0));
  EXPECT_TRUE(judge().empty());
  alive.back().stands_still = false;
  EXPECT_TRUE(judge().empty()) << "it goes on";
  book.add(replica_at(1), loader, "no frame for 1000 ms", milliseconds(0));
  EXPECT_EQ(judge().size(), 1u) << "their link is broken";
}

TEST(ComplaintBook, WhatConcernsOneWhoIsGoneIsSettled) {
  ComplaintBook book(milliseconds(100));
  book.add(replica_at(0), replica_at(1), "silent", milliseconds(0));
  book.add(replica_at(0), replica_at(1), "silent again", milliseconds(10));
  book.add(replica_at(1), replica_at(2), "silent", milliseconds(10));
  EXPECT_FALSE(book.empty());
  book.forget(replica_at(1));
  EXPECT_TRUE(book.empty());
  EXPECT_TRUE(
      book.judge(
              parties({1, 1, 1}), [](const NodeName&) { return milliseconds(999); }, milliseconds(999))
          .empty());
}

}  // namespace
}  // namespace muster
