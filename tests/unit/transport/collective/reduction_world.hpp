// Members of a view over the simulated network: each opens the rounds of a plan and adds its shards' leaves,
// at times drawn from a seed; what comes back is compared with the oracle.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/random_values.hpp"
#include "tests/support/tree_oracle.hpp"
#include "tests/unit/transport/borrowing_transport.hpp"
#include "tests/unit/transport/transport_world.hpp"
#include "transport/collective/engine.hpp"

namespace muster::testing {

/// What one shard does in one round.
struct LeafPlan {
  oracle::Values values;  ///< none: absent
  bool ended = false;     ///< an absent one: ended, or a hole (no rows)
  double weight = 0;      ///< may be 0 for a present one: every sample masked
};

struct RoundPlan {
  RoundKind kind = RoundKind::train;
  std::uint64_t epoch = 1;
  std::uint64_t step = 1;
  std::vector<LeafPlan> leaves;  ///< by shard; train only

  double weight() const;
  bool any_present() const;
};

/// Stands for an optimizer: keeps the mean gradients that it is given, of the whole vector.
class KeptGradients final : public PartUpdate {
 public:
  explicit KeptGradients(std::size_t elements) : gradient_(elements), kept_(elements, false) {}
  /// What it makes of an element's mean gradient.
  static float made_of(float gradient, std::uint64_t step) {
    return 0.5f * gradient + static_cast<float>(step);
  }

  void begin(std::uint64_t step) override;
  float* gradient(ElementRange elements) override { return gradient_.data() + elements.begin; }
  void kept(ElementRange elements) override;
  void result(ElementRange elements, float* out) override;

  std::uint64_t step() const { return step_; }
  bool keeps(std::size_t element) const { return kept_[element]; }
  float at(std::size_t element) const { return gradient_[element]; }

 private:
  std::uint64_t step_ = 0;
  std::vector<float> gradient_;
  std::vector<bool> kept_;
};

/// Stands for the states of shards: what a shard makes of a step is known.
class MadeStates final : public ShardCopies {
 public:
  MadeStates(std::uint32_t shards, std::size_t elements)
      : elements_(elements), states_(shards, std::vector<float>(elements)), steps_(shards, 0) {}
  static float made_of(std::uint32_t shard, std::uint64_t step, std::size_t element);

  /// As the member that computes the shard.
  void make(std::uint32_t shard, std::uint64_t step);
  std::span<const float> made(std::uint32_t shard) const override { return states_[shard]; }
  std::span<float> copy(std::uint32_t shard) override { return states_[shard]; }
  void kept(std::uint32_t shard, std::uint64_t step) override;
  void abandoned(std::uint32_t) override {}

  std::uint64_t step_of(std::uint32_t shard) const { return steps_[shard]; }

 private:
  std::size_t elements_;
  std::vector<std::vector<float>> states_;
  std::vector<std::uint64_t> steps_;
};

/// Stands for a GPU: folds end later than they are begun, in their order. Until then there is nothing but
/// NaN where they write, and what they read must not change.
class LateFolds final : public FoldUnit {
 public:
  /// `later` calls what it is given at some time; `ended` is called after each fold.
  LateFolds(std::function<void(std::function<void()>)> later, std::function<void()> ended)
      : later_(std::move(later)), said_(std::move(ended)) {}

  float* make(std::size_t elements) override;
  std::uint64_t fold(const FoldProgram& program, std::span<const float* const> operands, std::size_t count,
                     float divisor, float* out) override;
  std::uint64_t ended() override;
  void wait() noexcept override;
  bool working() const { return !under_way_.empty(); }
  /// After so many calls more each one throws.
  void fail_after(std::size_t calls) { calls_left_ = calls; }
  void pairs(std::span<const float> values, std::size_t stride, std::vector<float>& out) override;

 private:
  struct Fold {
    FoldProgram program;
    std::vector<const float*> operands;
    std::vector<std::vector<float>> were;  // what they held when it was begun
    std::size_t count;
    float divisor;
    float* out;
  };
  void run();
  void end_one();
  void work();

  std::function<void(std::function<void()>)> later_;
  std::function<void()> said_;
  std::optional<std::size_t> calls_left_;
  std::deque<std::vector<float>> owned_;
  std::deque<Fold> under_way_;
  std::uint64_t begun_ = 0, ended_ = 0;
};

struct ReductionWorldShape {
  std::uint32_t shards = 1;
  std::vector<std::uint32_t> split;  ///< shards of each member; adds up to `shards`
  std::size_t elements = 16;
  std::size_t sketch_elements = 0;  ///< not 0: some steps have a sketch before them
  std::size_t chunk_elements = 16;
  std::size_t bucket_elements = 0;  ///< not 0: members offer buckets early, at random
  std::size_t at_once_bytes = 8192;
  Algorithm algorithm = Algorithm::direct;
  Wire wire;
  bool sparse = false;              ///< sums travel sparse, and much of what is random is +0
  std::uint32_t per_host = 1;       ///< members on each host
  bool sharded = false;             ///< owners make results, when their buddies have what they are made of
  std::size_t state_elements = 0;   ///< not 0: shards have states, which buddies keep
  bool backup_workers = false;      ///< members are late at random, and others compute for them
  bool late_folds = false;          ///< each member has a LateFolds
  bool repeats = false;             ///< each frame comes twice
  bool supports_borrowing = false;  ///< contributions are read where their senders have them;
  std::uint64_t revokes =
      0;  ///< this one of those that the first member borrows, from 1, is revoked; 0: none
  bool one_shot_too = false;  ///< and each member measures which variant is quicker,
  std::uint32_t whose_time_passes =
      0;  ///< as far as time passes for it: so many members, from the first one on
  std::chrono::microseconds pace{500};  ///< bound of the random times between a member's reports
};

/// Rounds after the greeting, random: steps with absent shards, weightless ones, ends of epochs, evaluations.
std::vector<RoundPlan> random_rounds(std::size_t count, const ReductionWorldShape& shape,
                                     oracle::RandomValues& random);

class ReductionWorld {
 public:
  static constexpr std::uint32_t kView = 5;
  static constexpr std::size_t kBatchBytesMax = 1000;

  ReductionWorld(ReductionWorldShape shape, std::vector<RoundPlan> rounds, std::uint64_t seed);
  ~ReductionWorld();

  struct Member {
    std::string name;
    std::uint64_t incarnation = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::unique_ptr<Transport> transport;
    BorrowingTransport* borrowing = nullptr;  ///< the same, if contributions are borrowed
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Accumulator> accumulator;
    std::shared_ptr<KeptGradients> update;
    std::shared_ptr<MadeStates> states;
    std::shared_ptr<LateFolds> folds;
    std::chrono::nanoseconds time{0};  ///< if time passes for it: how often it has looked at its clock
    std::uint64_t filled = 0;          ///< the last round that the accumulator was filled for
    std::vector<float> result;
    std::vector<RoundRecord> records;  ///< the greeting's first
    std::vector<std::string> failures;
    std::vector<std::string> blamed_for;  ///< what its peers failed of
    std::vector<PeerId> peers_failed;
    std::vector<std::string> refusals;
    std::size_t closed = 0;         ///< how often it was said that the view is
    std::size_t foreign = 0;        ///< batches and demands that arrived
    std::uint64_t step_offset = 0;  ///< a member that believes to be at another step
  };

  /// The member enters the view, and greets; later than now by `delay`.
  void install(std::size_t member, std::chrono::nanoseconds delay = {});
  void install_all();

  /// Until nothing is left to happen. False if that takes more than a bounded number of events.
  bool run();
  bool run_until(std::chrono::nanoseconds time);

  /// Whether every member has seen every round, the greeting included.
  bool complete() const;

  /// Every record and every result against the plan.
  void expect_all_right() const;

  EventQueue& queue() { return queue_; }
  SimulatedNetwork& network() { return network_; }
  std::vector<Member>& members() { return members_; }
  const ReductionWorldShape& shape() const { return shape_; }

 private:
  std::chrono::nanoseconds soon();
  void later(std::size_t member, std::function<void()> act);
  void enter(std::size_t member);
  void open(std::size_t member);
  void offer(std::size_t member, std::uint64_t round);
  std::vector<NodeValue> sums_of(Member& member, std::uint64_t round) const;
  void contribute(std::size_t member, std::uint64_t round);
  void add_backup(std::size_t member, std::uint64_t round);
  void fill(Accumulator& accumulator, const RoundPlan& plan, std::uint32_t begin, std::uint32_t end) const;
  void done(std::size_t member, RoundRecord record);
  RoundHeader header_of(const Member& member, std::uint64_t round) const;
  void expect_result(const Member& member, const RoundRecord& record) const;
  void expect_kept(const std::vector<float>& mean, std::uint64_t step) const;
  void expect_states(const Member& member, const RoundPlan& plan) const;
  std::uint32_t buddy_of(std::size_t member) const;
  std::size_t elements_of(const RoundPlan& plan) const;

  ReductionWorldShape shape_;
  std::vector<RoundPlan> rounds_;
  oracle::RandomValues random_;
  EventQueue queue_;
  SimulatedNetwork network_;
  std::vector<Member> members_;
};

}  // namespace muster::testing
