#include "tests/unit/transport/collective/reduction_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/wire_numbers.hpp"
#include "tests/unit/transport/repeating_transport.hpp"

namespace muster::testing {

using namespace std::chrono_literals;

namespace {

constexpr float kUntouched = 4711.0f;
constexpr std::size_t kEventsMax = 4'000'000;

SimulatedNetworkOptions network_options(const ReductionWorldShape& shape) {
  SimulatedNetworkOptions options;
  options.at_once_bytes = shape.at_once_bytes;
  return options;
}

RoundPlan random_step(const ReductionWorldShape& shape, oracle::RandomValues& random) {
  RoundPlan plan;
  const bool sketch = shape.sketch_elements > 0 && random.chance(40);
  if (sketch) plan.kind = RoundKind::sketch;
  const bool weightless = random.chance(15);
  const std::uint64_t present = random.chance(50) ? 100 : 50;
  for (std::uint32_t s = 0; s < shape.shards; ++s) {
    LeafPlan leaf;
    if (random.chance(present)) {
      const std::size_t elements = sketch ? shape.sketch_elements : shape.elements;
      leaf.values = shape.sparse ? random.sparse_values(elements) : random.values(elements);
      leaf.weight = weightless ? 0 : 0.25 * static_cast<double>(random.below(100) + 1);
    } else {
      leaf.ended = random.chance(50);
    }
    plan.leaves.push_back(std::move(leaf));
  }
  return plan;
}

RoundPlan epoch_end(const ReductionWorldShape& shape) {
  RoundPlan plan;
  plan.leaves.assign(shape.shards, {std::nullopt, true, 0});
  return plan;
}

ShardMetrics metrics_of(std::uint32_t shard, const RoundPlan& plan) {
  return {shard, 0, 0.5 * shard + static_cast<double>(plan.step), 1.0 * shard, 2.0};
}

bool sends_metrics(const RoundPlan& plan, std::uint32_t shard) {
  return plan.kind == RoundKind::evaluate || (plan.kind == RoundKind::train && plan.leaves[shard].values);
}

ShardReport report_of(std::uint32_t shard, const LeafPlan& leaf) {
  ShardReport report;
  report.shard = shard;
  report.ended = leaf.ended ? 1 : 0;
  report.rows = leaf.values ? 4 : 0;
  report.first = shard * 100ull;
  report.count = report.rows;
  report.weight = leaf.weight;
  return report;
}

}  // namespace

void KeptGradients::begin(std::uint64_t step) {
  step_ = step;
  kept_.assign(kept_.size(), false);
}

void KeptGradients::kept(ElementRange elements) {
  for (std::size_t i = elements.begin; i < elements.end; ++i) {
    EXPECT_FALSE(kept_[i]) << "element " << i << " twice";
    kept_[i] = true;
  }
}

void KeptGradients::result(ElementRange elements, float* out) {
  for (std::size_t i = elements.begin; i < elements.end; ++i) {
    EXPECT_TRUE(kept_[i]) << "element " << i;
    *out++ = made_of(gradient_[i], step_);
  }
}

float MadeStates::made_of(std::uint32_t shard, std::uint64_t step, std::size_t element) {
  return static_cast<float>(shard) + 0.5f * static_cast<float>(step) + static_cast<float>(element % 1013);
}

void MadeStates::make(std::uint32_t shard, std::uint64_t step) {
  for (std::size_t i = 0; i < elements_; ++i) states_[shard][i] = made_of(shard, step, i);
  steps_[shard] = step;
}

void MadeStates::kept(std::uint32_t shard, std::uint64_t step) {
  EXPECT_LT(steps_[shard], step) << "shard " << shard << " twice";
  for (std::size_t i = 0; i < elements_; ++i)
    ASSERT_EQ(states_[shard][i], made_of(shard, step, i)) << "shard " << shard << ", element " << i;
  steps_[shard] = step;
}

double RoundPlan::weight() const {
  double sum = 0;
  for (const LeafPlan& leaf : leaves) sum += leaf.weight;
  return sum;
}

bool RoundPlan::any_present() const {
  return std::any_of(leaves.begin(), leaves.end(),
                     [](const LeafPlan& leaf) { return leaf.values.has_value(); });
}

std::vector<RoundPlan> random_rounds(std::size_t count, const ReductionWorldShape& shape,
                                     oracle::RandomValues& random) {
  std::vector<RoundPlan> rounds;
  for (std::size_t i = 0; i < count; ++i) {
    RoundPlan plan;
    if (random.chance(12)) {
      plan = epoch_end(shape);
    } else if (random.chance(12)) {
      plan.kind = RoundKind::evaluate;
    } else {
      plan = random_step(shape, random);
    }
    plan.epoch = 1 + i / 4;
    plan.step = i + 1;
    rounds.push_back(std::move(plan));
  }
  return rounds;
}

ReductionWorld::ReductionWorld(ReductionWorldShape shape, std::vector<RoundPlan> rounds, std::uint64_t seed)
    : shape_(std::move(shape)),
      rounds_(std::move(rounds)),
      random_(seed),
      network_(queue_.handle(), seed + 1, network_options(shape_)),
      members_(shape_.split.size()) {
  rounds_.insert(rounds_.begin(), RoundPlan{RoundKind::greeting, 0, 0, {}});
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    member.name = "member " + std::to_string(i);
    member.incarnation = 1000 + i;
    member.begin = next;
    next = member.end = next + shape_.split[i];
    member.transport = network_.attach(member.name);
    if (shape_.repeats) member.transport = std::make_unique<RepeatingTransport>(std::move(member.transport));
    if (shape_.supports_borrowing) {
      auto borrowing =
          std::make_unique<BorrowingTransport>(std::move(member.transport), i == 0 ? shape_.revokes : 0);
      member.borrowing = borrowing.get();
      member.transport = std::move(borrowing);
    }
    member.accumulator =
        std::make_unique<Accumulator>(shape_.shards, member.begin, member.end,
                                      std::max(shape_.elements, shape_.sketch_elements), shape_.wire);
    member.result.resize(std::max(shape_.elements, shape_.sketch_elements));
    if (shape_.sharded) member.update = std::make_shared<KeptGradients>(shape_.elements);
    if (shape_.state_elements > 0)
      member.states = std::make_shared<MadeStates>(shape_.shards, shape_.state_elements);
    Engine::Hooks hooks;
    hooks.round_done = [this, i](std::shared_ptr<const RoundRecord> record) { done(i, *record); };
    hooks.reduction_failed = [&member](const std::string& reason) { member.failures.push_back(reason); };
    hooks.batch = [&member](const Frame&, std::vector<std::byte>) { ++member.foreign; };
    hooks.demand = [&member](const Frame&) { ++member.foreign; };
    hooks.peer_failed = [&member](std::uint32_t, PeerId peer, const std::string& reason) {
      member.peers_failed.push_back(peer);
      member.blamed_for.push_back(reason);
    };
    hooks.refused = [&member](const std::string& reason) { member.refusals.push_back(reason); };
    hooks.closed = [&member](std::uint32_t, bool, bool) {
      EXPECT_FALSE(member.folds && member.folds->working()) << member.name;
      ++member.closed;
    };
    if (shape_.one_shot_too)
      hooks.now = [&member, ticks = i < shape_.whose_time_passes] { return member.time += 1ns * ticks; };
    if (shape_.late_folds) {
      member.folds = std::make_shared<LateFolds>(
          [this](std::function<void()> act) { queue_.after(soon(), std::move(act)); },
          [&member] { member.engine->fold_on(); });
    }
    member.engine = std::make_unique<Engine>(*member.transport, std::move(hooks));
  }
}

ReductionWorld::~ReductionWorld() {
  for (Member& member : members_) member.transport.reset();
}

std::chrono::nanoseconds ReductionWorld::soon() {
  return std::chrono::nanoseconds(
      random_.below(static_cast<std::uint64_t>(std::chrono::nanoseconds(shape_.pace).count())));
}

void ReductionWorld::later(std::size_t, std::function<void()> act) {
  queue_.after(soon(), std::move(act));
}

void ReductionWorld::install(std::size_t member, std::chrono::nanoseconds delay) {
  queue_.after(delay, [this, member] { enter(member); });
}

void ReductionWorld::install_all() {
  for (std::size_t i = 0; i < members_.size(); ++i) install(i, soon());
}

std::size_t ReductionWorld::elements_of(const RoundPlan& plan) const {
  return plan.kind == RoundKind::sketch ? shape_.sketch_elements : shape_.elements;
}

std::uint32_t ReductionWorld::buddy_of(std::size_t member) const {
  return static_cast<std::uint32_t>((member + 1) % members_.size());
}

void ReductionWorld::enter(std::size_t number) {
  ReductionShape shape;
  shape.view = kView;
  shape.self = static_cast<std::uint32_t>(number);
  shape.shards = shape_.shards;
  shape.elements = shape_.elements;
  shape.sketch_elements = shape_.sketch_elements;
  shape.chunk_elements = shape_.chunk_elements;
  shape.bucket_elements = shape_.bucket_elements;
  shape.wire = shape_.wire;
  shape.unit = members_[number].folds;
  shape.sparse = shape_.sparse;
  shape.backup_workers = shape_.backup_workers;
  shape.shares_memory = shape.one_shot_too = shape_.one_shot_too;
  shape.algorithm = shape_.algorithm;
  shape.sharded = shape_.sharded;
  shape.update = members_[number].update;
  shape.copies = members_[number].states;
  shape.copy_elements = shape_.state_elements;
  std::vector<Engine::Peer> peers;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& other = members_[i];
    shape.members.push_back({static_cast<PeerId>(i), other.incarnation, other.begin, other.end,
                             static_cast<std::uint32_t>(i) / shape_.per_host, buddy_of(i)});
    if (i != number) peers.push_back({static_cast<PeerId>(i), other.incarnation, other.transport->address()});
  }
  Member& member = members_[number];
  member.engine->install(kView, shape.self, member.incarnation, peers, &shape, {kBatchBytesMax, 0, 0});
  open(number);
}

RoundHeader ReductionWorld::header_of(const Member& member, std::uint64_t round) const {
  const RoundPlan& plan = rounds_[round];
  RoundHeader header;
  header.round = round;
  header.kind = plan.kind;
  header.epoch = plan.epoch;
  header.step = plan.step + (plan.kind == RoundKind::greeting ? 0 : member.step_offset);
  header.applied = plan.step;
  header.record_hash = round == 0 ? 0 : member.records.back().hash;
  for (std::uint32_t s = member.begin; s < member.end && has_sums(plan.kind); ++s) {
    header.shards.push_back(report_of(s, plan.leaves[s]));
  }
  return header;
}

void ReductionWorld::open(std::size_t number) {
  Member& member = members_[number];
  const std::uint64_t round = member.records.size();
  const RoundKind kind = rounds_[round].kind;
  std::fill(member.result.begin(), member.result.end(), kUntouched);
  const std::span<float> result =
      std::span<float>(member.result).first(has_sums(kind) ? elements_of(rounds_[round]) : 0);
  const RoundHeader header = header_of(member, round);
  // Before the header goes out: a member alone is done within `open`.
  if (kind != RoundKind::greeting) {
    const bool late = shape_.backup_workers && random_.chance(30);
    const auto at = soon() * (late ? 20 : 1);
    if (shape_.bucket_elements > 0 && kind == RoundKind::train)
      queue_.after(soon() * (late ? 20 : 1), [this, number, round] { offer(number, round); });
    queue_.after(at, [this, number, round] { contribute(number, round); });
  }
  while (shape_.backup_workers && kind == RoundKind::train && random_.chance(60))
    queue_.after(soon() * 3, [this, number, round] { add_backup(number, round); });
  member.engine->reduction()->open(header, result);
}

void ReductionWorld::contribute(std::size_t number, std::uint64_t round) {
  Member& member = members_[number];
  if (!member.failures.empty()) return;
  const RoundPlan& plan = rounds_[round];
  // Where every shard has ended, some members say so once more, as a slow compute thread would; others do
  // not.
  if (has_sums(plan.kind) && !plan.any_present() && random_.chance(50)) return;
  std::vector<NodeValue> nodes;
  std::vector<ShardMetrics> metrics;
  // The sums of a round that is over must stay untouched until the next step: so they are computed only for
  // the round that is open.
  if (has_sums(plan.kind) && member.records.size() == round) nodes = sums_of(member, round);
  for (std::uint32_t s = member.begin; s < member.end; ++s) {
    if (sends_metrics(plan, s)) metrics.push_back(metrics_of(s, plan));
    const bool makes = member.states && plan.kind == RoundKind::train && plan.leaves[s].values;
    if (makes && plan.weight() != 0 && member.records.size() == round) member.states->make(s, plan.step);
  }
  member.engine->reduction()->contribute(round, nodes, metrics, nullptr);
}

// Some buckets ahead of the rest, or too late to be ahead.
void ReductionWorld::offer(std::size_t number, std::uint64_t round) {
  Member& member = members_[number];
  if (!member.failures.empty() || member.records.size() != round) return;
  const auto nodes = sums_of(member, round);
  const Buckets buckets(shape_.elements, shape_.bucket_elements);
  for (std::size_t bucket = buckets.count(); bucket-- > 0;) {
    if (random_.chance(60)) member.engine->reduction()->offer(round, nodes, buckets[bucket], nullptr);
  }
}

std::vector<NodeValue> ReductionWorld::sums_of(Member& member, std::uint64_t round) const {
  if (member.filled != round) fill(*member.accumulator, rounds_[round], member.begin, member.end);
  member.filled = round;
  return member.accumulator->nodes();
}

void ReductionWorld::fill(Accumulator& accumulator, const RoundPlan& plan, std::uint32_t begin,
                          std::uint32_t end) const {
  accumulator.start();
  for (std::uint32_t s = begin; s < end; ++s) {
    if (plan.leaves[s].values) {
      std::copy(plan.leaves[s].values->begin(), plan.leaves[s].values->end(), accumulator.leaf().begin());
      accumulator.add_leaf();
    } else {
      accumulator.skip_leaf();
    }
  }
}

// Some node of some other member, with the reports of its shards.
void ReductionWorld::add_backup(std::size_t number, std::uint64_t round) {
  const Member& other = members_[(number + 1 + random_.below(members_.size())) % members_.size()];
  const unsigned height = tree_height(shape_.shards);
  const auto nodes = cover(height, other.begin, other.end);
  if (&other == &members_[number] || nodes.empty() || !members_[number].failures.empty()) return;
  const NodeId node = nodes[random_.below(nodes.size())];
  const auto leaves = leaves_below(height, node);
  const RoundPlan& plan = rounds_[round];
  auto accumulator =
      std::make_shared<Accumulator>(shape_.shards, leaves.begin, leaves.end, shape_.elements, shape_.wire);
  fill(*accumulator, plan, leaves.begin, leaves.end);
  std::vector<ShardMetrics> metrics;
  for (std::uint32_t s = leaves.begin; s < leaves.end; ++s) {
    if (sends_metrics(plan, s)) metrics.push_back(metrics_of(s, plan));
  }
  const auto values = accumulator->nodes();
  if (!values.empty())
    members_[number].engine->reduction()->add_backup(round, values.front(), metrics, accumulator);
}

void ReductionWorld::done(std::size_t number, RoundRecord record) {
  Member& member = members_[number];
  EXPECT_TRUE(member.failures.empty()) << "a round is over after a failure";
  ASSERT_LT(member.records.size(), rounds_.size());
  expect_result(member, record);
  if (member.states) expect_states(member, rounds_[member.records.size()]);
  member.records.push_back(std::move(record));
  if (member.records.size() < rounds_.size()) later(number, [this, number] { open(number); });
}

void ReductionWorld::expect_result(const Member& member, const RoundRecord& record) const {
  const RoundPlan& plan = rounds_[member.records.size()];
  oracle::Values expected;
  if (has_sums(plan.kind) && plan.weight() != 0) {
    std::vector<oracle::Values> leaves;
    for (const LeafPlan& leaf : plan.leaves) leaves.push_back(leaf.values);
    expected = oracle::mean(leaves, static_cast<float>(plan.weight()), oracle::numbers_of(shape_.wire));
    if (shape_.sharded) {
      expect_kept(*expected, plan.step);
      for (float& value : *expected) value = KeptGradients::made_of(value, plan.step);
    }
  } else {
    expected = std::vector<float>(elements_of(plan), kUntouched);
  }
  EXPECT_TRUE(oracle::same_bits(member.result.data(), expected->data(), elements_of(plan)))
      << member.name << ", round " << record.round;
}

// Whoever is through with a step: each shard's new state is with its member and that one's buddy.
void ReductionWorld::expect_states(const Member&, const RoundPlan& plan) const {
  if (plan.kind != RoundKind::train || plan.weight() == 0) return;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    for (std::uint32_t shard = members_[i].begin; shard < members_[i].end; ++shard) {
      if (!plan.leaves[shard].values) continue;
      for (const std::size_t holder : {i, static_cast<std::size_t>(buddy_of(i))})
        EXPECT_GE(members_[holder].states->step_of(shard), plan.step)
            << "shard " << shard << " at " << holder;
    }
  }
}

// Whoever is through with a round: of each range owner and buddy hold the mean gradient.
void ReductionWorld::expect_kept(const std::vector<float>& mean, std::uint64_t step) const {
  const Buckets buckets(shape_.elements, shape_.bucket_elements);
  for (std::size_t bucket = 0; bucket < buckets.count(); ++bucket) {
    for (std::size_t owner = 0; owner < members_.size(); ++owner) {
      const ElementRange range = range_of_owner(buckets[bucket], owner, members_.size());
      for (const std::size_t holder : {owner, static_cast<std::size_t>(buddy_of(owner))}) {
        const KeptGradients& kept = *members_[holder].update;
        if (kept.step() > step) continue;  // it is a round ahead, and had them
        for (std::size_t i = range.begin; i < range.end; ++i) {
          ASSERT_TRUE(kept.step() == step && kept.keeps(i)) << "member " << holder << ", element " << i;
          const float value = kept.at(i);
          ASSERT_TRUE(oracle::same_bits(&value, &mean[i], 1)) << "member " << holder << ", element " << i;
        }
      }
    }
  }
}

bool ReductionWorld::run() {
  for (std::size_t events = 0; events < kEventsMax; ++events) {
    if (!queue_.step()) return true;
  }
  return false;
}

bool ReductionWorld::run_until(std::chrono::nanoseconds time) {
  for (std::size_t events = 0; events < kEventsMax; ++events) {
    if (queue_.now() >= time || !queue_.step()) return true;
  }
  return false;
}

bool ReductionWorld::complete() const {
  return std::all_of(members_.begin(), members_.end(),
                     [&](const Member& member) { return member.records.size() == rounds_.size(); });
}

void ReductionWorld::expect_all_right() const {
  for (const Member& member : members_) {
    EXPECT_EQ(member.failures, std::vector<std::string>{}) << member.name;
    ASSERT_EQ(member.records.size(), rounds_.size()) << member.name;
    for (std::size_t round = 0; round < rounds_.size(); ++round) {
      const RoundPlan& plan = rounds_[round];
      const RoundRecord& record = member.records[round];
      EXPECT_EQ(record.round, round);
      EXPECT_EQ(record.kind, plan.kind);
      EXPECT_EQ(record.epoch, plan.epoch);
      EXPECT_EQ(record.step, plan.step);
      EXPECT_EQ(record.weight, plan.weight());
      EXPECT_EQ(record.hash, members_[0].records[round].hash) << member.name << ", round " << round;
      std::vector<ShardReport> reports;
      std::vector<ShardMetrics> metrics;
      for (std::uint32_t s = 0; s < shape_.shards; ++s) {
        if (has_sums(plan.kind)) reports.push_back(report_of(s, plan.leaves[s]));
        if (sends_metrics(plan, s)) metrics.push_back(metrics_of(s, plan));
      }
      EXPECT_EQ(record.shards, reports) << member.name << ", round " << round;
      EXPECT_EQ(record.metrics, metrics) << member.name << ", round " << round;
    }
  }
}

}  // namespace muster::testing
