// The trees of the algorithms, and the sums along them: every algorithm, every number of members up to 9,
// every split of 16 shards.
#include "transport/collective/algorithms/algorithm.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <deque>
#include <memory>
#include <set>

#include "tests/support/random_values.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/tree_oracle.hpp"
#include "tests/support/wire_numbers.hpp"
#include "transport/collective/choice/chooser.hpp"
#include "transport/collective/choice/cost.hpp"
#include "transport/collective/tree_sum/tree_sum.hpp"
#include "transport/simulated/network.hpp"

namespace {

using namespace muster;
using oracle::RandomValues;

std::vector<std::uint32_t> hosts_of(std::uint32_t members, std::uint32_t per_host) {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t m = 0; m < members; ++m) hosts.push_back(m / per_host);
  return hosts;
}

std::uint32_t hops(const Parents& parents, std::uint32_t member, std::uint32_t owner) {
  std::uint32_t count = 0;
  for (; member != owner && count <= parents.size(); ++count) member = parents[member];
  return count;
}

TEST(Algorithms, HaveNames) {
  for (const Algorithm algorithm : kAlgorithms) EXPECT_EQ(algorithm_of(text_of(algorithm)), algorithm);
  EXPECT_FALSE(algorithm_of("fastest"));
}

TEST(Algorithms, GiveATreeForEachOwnerOfAboutTheDepthTheyPromise) {
  for (std::uint32_t members = 1; members <= 40; ++members) {
    const auto hosts = hosts_of(members, 3);
    const auto logarithm = static_cast<std::uint32_t>(std::bit_width(members - 1));
    for (const Algorithm algorithm : kAlgorithms) {
      const std::uint32_t deepest = algorithm == Algorithm::direct             ? 1
                                    : algorithm == Algorithm::one_shot         ? 1
                                    : algorithm == Algorithm::hierarchical     ? 2
                                    : algorithm == Algorithm::halving_doubling ? logarithm
                                                                               : members - 1;
      for (std::uint32_t owner = 0; owner < members; ++owner) {
        const Parents parents = tree_of(algorithm, hosts, owner);
        ASSERT_EQ(parents.size(), members);
        EXPECT_EQ(parents[owner], owner);
        for (std::uint32_t member = 0; member < members; ++member)
          EXPECT_LE(hops(parents, member, owner), deepest) << text_of(algorithm) << " " << members;
      }
      auto owners = owners_in_order(algorithm, members);
      EXPECT_EQ(std::set<std::uint32_t>(owners.begin(), owners.end()).size(), members);
    }
  }
}

TEST(Algorithms, TheHierarchicalFormCrossesHostsOnceARangeAndHost) {
  const auto hosts = hosts_of(9, 2);  // the last host has one
  for (std::uint32_t owner = 0; owner < 9; ++owner) {
    const Parents parents = tree_of(Algorithm::hierarchical, hosts, owner);
    std::size_t crossings = 0;
    for (std::uint32_t m = 0; m < 9; ++m) crossings += hosts[m] != hosts[parents[m]] ? 1 : 0;
    EXPECT_EQ(crossings, 4u);
  }
}

/// The sums of all members, joined by a queue of messages that arrive in a random order.
class Sums {
 public:
  Sums(Algorithm algorithm, std::uint32_t shards, const std::vector<std::uint32_t>& split, std::size_t size,
       std::size_t chunk, std::size_t bucket = 0, Wire wire = {}, bool sparse = false) {
    std::uint32_t begin = 0;
    ReductionShape shape;
    shape.shards = shards;
    shape.elements = size;
    shape.chunk_elements = chunk;
    shape.bucket_elements = bucket;
    shape.wire = wire;
    shape.sparse = sparse;
    shape.algorithm = algorithm;
    for (std::uint32_t m = 0; m < split.size(); ++m) {
      shape.members.push_back({m, 0, begin, begin + split[m], m / 2});
      begin += split[m];
    }
    for (std::uint32_t m = 0; m < split.size(); ++m) {
      shape.self = m;
      auto& member = *members_.emplace_back(std::make_unique<Member>(shape, *nobody_));
      member.sum = std::make_unique<TreeSum>(
          member.plan, member.staging, member.variants,
          [this, m](std::uint32_t to, Frame frame, std::span<const std::byte> payload, Staging::Hold hold) {
            frame.from = m;
            frame.bytes = payload.size();
            queue_.push_back({to, frame, {payload.begin(), payload.end()}});
            if (hold != Staging::kNone) members_[m]->staging.release(hold);
          });
      member.result.assign(size, -1.0f);
    }
  }

  void run(const std::vector<std::vector<float>>& leaves, RandomValues& random) {
    for (auto& member : members_) {
      const ReductionMember& self = member->shape().members[member->shape().self];
      member->accumulator = std::make_unique<Accumulator>(member->shape().shards, self.begin, self.end,
                                                          member->shape().elements, member->shape().wire);
      for (std::uint32_t s = self.begin; s < self.end; ++s) {
        if (leaves[s].empty()) {
          member->accumulator->skip_leaf();
          continue;
        }
        std::copy(leaves[s].begin(), leaves[s].end(), member->accumulator->leaf().begin());
        member->accumulator->add_leaf();
      }
    }
    std::vector<bool> present;
    double weight = 0;
    for (const auto& leaf : leaves) {
      present.push_back(!leaf.empty());
      weight += leaf.empty() ? 0 : 3;
    }
    std::vector<std::function<void()>> acts;
    for (auto& member : members_) {
      member->sum->open(member->result, 1);
      acts.push_back([&] { member->sum->settle(present, weight); });
      const Buckets buckets(shape().elements, shape().bucket_elements);
      member->hide_sums();
      for (std::size_t b = 0; b < buckets.count(); ++b)
        acts.push_back([&member, range = buckets[b]] { member->offer(range); });
    }
    while (!acts.empty() || !queue_.empty()) {
      if (!acts.empty() && (queue_.empty() || random.chance(50))) {
        const std::size_t which = random.below(acts.size());
        acts[which]();
        acts.erase(acts.begin() + static_cast<long>(which));
      } else {
        deliver(random.below(queue_.size()), random);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }

  void expect(const std::vector<float>& expected) const {
    for (const auto& member : members_) {
      ASSERT_TRUE(member->sum->complete());
      ASSERT_EQ(std::memcmp(member->result.data(), expected.data(), expected.size() * sizeof(float)), 0);
      for (std::uint32_t other = 0; other < members_.size(); ++other) EXPECT_FALSE(member->sum->owes(other));
      member->sum->reset();
      EXPECT_EQ(member->staging.taken(), 0u);
    }
  }
  const ReductionShape& shape() const { return members_[0]->shape(); }
  std::size_t messages = 0, elements = 0, between_hosts = 0;

 private:
  struct Member {
    Member(const ReductionShape& shape, Transport& transport)
        : plan(shape), staging(shape.chunk_elements, transport) {}
    // What is not offered yet is not there yet: who reads it reads NaN.
    void hide_sums() {
      shown.clear();
      for (const NodeValue& node : accumulator->nodes())
        shown.push_back({node, std::vector<float>(shape().elements, std::nanf(""))});
    }
    void offer(ElementRange range) {
      std::vector<NodeValue> nodes;
      for (Shown& part : shown) {
        std::copy(part.node.values + range.begin, part.node.values + range.end,
                  part.values.begin() + static_cast<long>(range.begin));
        nodes.push_back({part.node.node, part.values.data()});
      }
      sum->offer(nodes, range);
    }
    struct Shown {
      NodeValue node;
      std::vector<float> values;
    };
    std::vector<Shown> shown;
    const ReductionShape& shape() const { return plan.shape(); }
    SumPlan plan;
    Staging staging;
    VariantChoice variants;
    std::unique_ptr<TreeSum> sum;
    std::unique_ptr<Accumulator> accumulator;
    std::vector<float> result;
  };
  struct Message {
    std::uint32_t to;
    Frame frame;
    std::vector<std::byte> payload;
  };

  void deliver(std::size_t which, RandomValues&) {
    const Message message = queue_[which];
    queue_.erase(queue_.begin() + static_cast<long>(which));
    ++messages;
    const std::size_t count = message.payload.size() / sizeof(float);
    elements += count;
    const auto& members = shape().members;
    if (members[message.frame.from].host != members[message.to].host) between_hosts += count;
    TreeSum& sum = *members_[message.to]->sum;
    const auto place = sum.place(message.frame);
    ASSERT_EQ(place.size(), message.payload.size());
    std::copy(message.payload.begin(), message.payload.end(), place.begin());
    ASSERT_TRUE(sum.arrived(message.frame, place));
  }

  SimulatedNetwork network_{[](std::chrono::nanoseconds, std::function<void()>) {}, 1, {}};
  std::unique_ptr<Transport> nobody_ = network_.attach("nobody");
  std::vector<std::unique_ptr<Member>> members_;
  std::deque<Message> queue_;
};

std::vector<std::vector<float>> leaves_of(std::uint32_t shards, std::size_t elements,
                                          std::uint64_t absent_percent, RandomValues& random) {
  std::vector<std::vector<float>> leaves(shards);
  for (auto& leaf : leaves) {
    if (!random.chance(absent_percent)) leaf = *oracle::Values(random.values(elements));
  }
  if (leaves[0].empty()) leaves[0] = *oracle::Values(random.values(elements));
  return leaves;
}

std::vector<float> expected_of(const std::vector<std::vector<float>>& leaves, const Wire& wire = {}) {
  std::vector<oracle::Values> values;
  double weight = 0;
  for (const auto& leaf : leaves) {
    values.push_back(leaf.empty() ? oracle::Values() : oracle::Values(leaf));
    weight += leaf.empty() ? 0 : 3;
  }
  return *oracle::mean(values, static_cast<float>(weight), oracle::numbers_of(wire));
}

void for_each_split(std::uint32_t left, std::uint32_t parts, std::vector<std::uint32_t>& split,
                    const std::function<void()>& act) {
  if (parts == 1) {
    split.push_back(left);
    act();
    split.pop_back();
    return;
  }
  for (std::uint32_t first = 1; first + parts - 1 <= left; ++first) {
    split.push_back(first);
    for_each_split(left - first, parts - 1, split, act);
    split.pop_back();
  }
}

class EveryAlgorithm : public ::testing::TestWithParam<Algorithm> {};

TEST_P(EveryAlgorithm, HasTheSameBitsOnAnyNumberOfMembersAndEverySplitOf16Shards) {
  constexpr std::uint32_t kShards = 16;
  constexpr std::size_t kElements = 150;
  RandomValues random(81);
  const auto whole = leaves_of(kShards, kElements, 0, random),
             holes = leaves_of(kShards, kElements, 30, random);
  const auto expected_whole = expected_of(whole), expected_holes = expected_of(holes);
  std::size_t splits = 0;
  for (std::uint32_t members = 1; members <= 9; ++members) {
    std::vector<std::uint32_t> split;
    for_each_split(kShards, members, split, [&] {
      if (HasFailure()) return;
      const bool odd = ++splits % 2 == 1;
      if (kSanitized && splits % 13 != 0) return;
      Sums sums(GetParam(), kShards, split, kElements, 64, splits % 4 < 2 ? 0 : 48);
      sums.run(odd ? whole : holes, random);
      sums.expect(odd ? expected_whole : expected_holes);
    });
    ASSERT_FALSE(HasFailure()) << members << " members";
  }
  EXPECT_EQ(splits, 22819u);
}

// Hosts of two members each: what goes between them has 16 bits, and loses nothing.
TEST_P(EveryAlgorithm, HasTheSameBitsOnAWireOf16Bits) {
  RandomValues random(84);
  for (const Wire wire :
       {Wire{WireType::float16, 0}, Wire{WireType::float16, 7}, Wire{WireType::bfloat16, 0}}) {
    for (int turn = 0; turn < 60; ++turn) {
      const auto members = static_cast<std::uint32_t>(1 + random.below(9));
      const auto shards = static_cast<std::uint32_t>(members + random.below(17 - members));
      const std::size_t elements = 1 + random.below(300);
      const auto leaves = leaves_of(shards, elements, 30, random);
      Sums sums(GetParam(), shards, random.split(shards, members), elements, 64, random.below(3) * 60, wire);
      sums.run(leaves, random);
      sums.expect(expected_of(leaves, wire));
      ASSERT_FALSE(HasFailure()) << members << " members, " << shards << " shards";
    }
  }
}

// Between those hosts: some messages are sparse, some are not, and no place is kept.
TEST_P(EveryAlgorithm, HasTheSameBitsWhereSumsAreSparse) {
  RandomValues random(85);
  for (const Wire wire : {Wire{}, Wire{WireType::float16, 0}, Wire{WireType::bfloat16, 0}}) {
    for (int turn = 0; turn < 60; ++turn) {
      const auto members = static_cast<std::uint32_t>(1 + random.below(9));
      const auto shards = static_cast<std::uint32_t>(members + random.below(17 - members));
      auto leaves = leaves_of(shards, 1 + random.below(300), 30, random);
      for (auto& leaf : leaves) {
        if (!leaf.empty()) leaf = random.sparse_values(leaf.size());
      }
      Sums sums(GetParam(), shards, random.split(shards, members), leaves[0].size(), 64, random.below(3) * 60,
                wire, true);
      sums.run(leaves, random);
      sums.expect(expected_of(leaves, wire));
      ASSERT_FALSE(HasFailure()) << members << " members, " << shards << " shards";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, EveryAlgorithm, ::testing::ValuesIn(kAlgorithms),
                         [](const auto& which) { return std::string(text_of(which.param)); });

// Two to the power of k members with one shard each: k messages up and k down for each, and each sends
// 2 (R-1) / R of the vector.
TEST(Algorithms, HalvingAndDoublingTakesTwiceTheLogarithmOfMessages) {
  for (const std::uint32_t members : {2u, 4u, 8u, 16u}) {
    RandomValues random(82);
    const std::size_t elements = 64 * members;
    const auto leaves = leaves_of(members, elements, 0, random);
    Sums sums(Algorithm::halving_doubling, members, std::vector<std::uint32_t>(members, 1), elements,
              elements);
    sums.run(leaves, random);
    sums.expect(expected_of(leaves));
    EXPECT_EQ(sums.messages, 2u * members * static_cast<unsigned>(std::countr_zero(members)));
    EXPECT_EQ(sums.elements, 2u * (members - 1) * elements);
  }
}

TEST(Algorithms, CostWhatIsCounted) {
  RandomValues random(83);
  for (int turn = 0; turn < 300; ++turn) {
    const auto members = static_cast<std::uint32_t>(1 + random.below(9));
    const auto shards = static_cast<std::uint32_t>(members + random.below(17 - members));
    const std::size_t elements = 1 + random.below(500);
    const auto leaves = leaves_of(shards, elements, 0, random);
    for (const Algorithm algorithm : kAlgorithms) {
      Sums sums(algorithm, shards, random.split(shards, members), elements, 64, random.below(3) * 60);
      sums.run(leaves, random);
      sums.expect(expected_of(leaves));
      const ReductionCost cost = cost_of(sums.shape());
      EXPECT_EQ(sums.elements, cost.elements) << text_of(algorithm) << " " << members;
      EXPECT_EQ(sums.between_hosts, cost.elements_between_hosts) << text_of(algorithm) << " " << members;
    }
  }
}

// The formulas of docs/internals/collectives.md: H hosts with m members each, one aligned node each, n
// elements.
TEST(Algorithms, CostWhatTheirFormulasSay) {
  for (const std::uint32_t hosts : {1u, 2u, 4u}) {
    for (const std::uint32_t each : {1u, 2u, 4u}) {
      const std::uint32_t members = hosts * each;
      ReductionShape shape;
      shape.shards = members;
      shape.elements = 64 * members;
      for (std::uint32_t m = 0; m < members; ++m) shape.members.push_back({m, 0, m, m + 1, m / each});
      const std::size_t n = shape.elements;
      for (const Algorithm algorithm :
           {Algorithm::direct, Algorithm::halving_doubling, Algorithm::hierarchical}) {
        shape.algorithm = algorithm;
        const ReductionCost cost = cost_of(shape);
        EXPECT_EQ(cost.elements, 2 * (members - 1) * n) << text_of(algorithm);
        const std::size_t crossing =
            algorithm == Algorithm::direct ? 2 * (members - each) * n : 2 * (hosts - 1) * n;
        EXPECT_EQ(cost.elements_between_hosts, crossing) << text_of(algorithm) << " " << hosts << " " << each;
      }
    }
  }
}

// What the chooser relies on where members share hosts, which lie side by side
// (rules/membership/membership.cpp).
TEST(Algorithms, HierarchicalSendsTheFewestBytesBetweenHosts) {
  for (std::uint32_t hosts = 2; hosts <= 6; ++hosts) {
    for (std::uint32_t each = 2; each <= 5; ++each) {
      for (std::uint32_t shards_each = 1; shards_each <= 3; ++shards_each) {
        ReductionShape shape;
        shape.shards = hosts * each * shards_each;
        shape.elements = 16 * hosts * each;
        for (std::uint32_t m = 0; m < hosts * each; ++m)
          shape.members.push_back({m, 0, m * shards_each, (m + 1) * shards_each, m / each});
        const auto between_hosts = [&](Algorithm algorithm) {
          shape.algorithm = algorithm;
          return cost_of(shape).elements_between_hosts;
        };
        const std::size_t fewest = between_hosts(Algorithm::hierarchical);
        for (const Algorithm algorithm : kAlgorithms)
          EXPECT_GE(between_hosts(algorithm), fewest) << text_of(algorithm) << " " << hosts << " x " << each;
      }
    }
  }
}

TEST(Algorithms, AreChosenByTheRule) {
  const auto chosen = [](std::size_t elements, std::vector<std::uint32_t> hosts) {
    return choose_algorithm(elements, hosts);
  };
  EXPECT_EQ(chosen(1000, {0}), Algorithm::direct);
  EXPECT_EQ(chosen(1 << 24, {0, 0, 0, 0}), Algorithm::direct);
  EXPECT_EQ(chosen(1 << 24, {0, 1, 2, 3}), Algorithm::direct);
  EXPECT_EQ(chosen(1 << 24, {0, 0, 1, 1}), Algorithm::hierarchical);
  EXPECT_EQ(chosen(1000, hosts_of(16, 1)), Algorithm::halving_doubling);
  EXPECT_EQ(chosen(1 << 24, hosts_of(16, 1)), Algorithm::direct);
}

}  // namespace
