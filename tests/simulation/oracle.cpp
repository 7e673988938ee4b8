#include "tests/simulation/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "actors/trainer/trainer_state.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "tests/simulation/plain_mathematics.hpp"
#include "tests/support/norm_oracle.hpp"
#include "tests/support/wire_numbers.hpp"

namespace muster::simulation {

namespace {

using Leaves = std::vector<std::optional<std::vector<float>>>;
using Owed = std::pair<std::uint64_t, std::set<std::uint32_t>>;  // turn, shards

// The sum of leaves [first, first + width) in the order of the contract: left plus right, absent ones pass
// through.
std::optional<std::vector<float>> sum(const Leaves& leaves, std::size_t first, std::size_t width,
                                      const oracle::Numbers& numbers) {
  if (first >= leaves.size()) return std::nullopt;
  auto left = width == 1 ? leaves[first] : sum(leaves, first, width / 2, numbers);
  auto right = width == 1 ? std::nullopt : sum(leaves, first + width / 2, width / 2, numbers);
  if (!left) return right;
  for (std::size_t i = 0; right && i < left->size(); ++i) (*left)[i] = (*left)[i] + (*right)[i];
  oracle::round_all(left, numbers);
  return left;
}

std::size_t power_of_two_from(std::size_t shards) {
  std::size_t width = 1;
  while (width < shards) width *= 2;
  return width;
}

// Top-k with error feedback, in the plainest way: all are sorted.
void keep_largest(std::vector<float>& gradient, std::size_t parameters, double ratio,
                  const oracle::Numbers& numbers, std::vector<float>& left_out) {
  std::vector<std::size_t> order(parameters);
  for (std::size_t i = 0; i < parameters; ++i) {
    order[i] = i;
    gradient[i] = gradient[i] + left_out[i];
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::fabs(gradient[a]) > std::fabs(gradient[b]);
  });
  const auto kept = static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(parameters)));
  for (std::size_t place = 0; place < parameters; ++place) {
    float& value = gradient[order[place]];
    const float all = value;
    value = place < kept ? oracle::rounded(value, numbers) : 0.0f;
    left_out[order[place]] = all - value;
  }
}

class Plain {
 public:
  Plain(const Job& job, const Registry& registry, const LeftOut& left_out)
      : job_(job),
        left_out_(left_out),
        data_(job),
        model_(job),
        state_(model_.initial(job.seed)),
        optimizer_(job.train.optimizer, model_.parameters()) {
    left_out_by_shards_.assign(job.train.shards, std::vector<float>(parameters()));
    if (job.train.compression.kind != CompressionKind::powersgd) return;
    const auto product = registry.make_model(job.model.name, job.model.options, {"cpu", 1});
    powersgd_ = std::make_unique<PowerSgd>(product->layout(), job.train.compression.rank);
    q_.resize(parameters());
    powersgd_->begin(job.seed, q_);
  }

  OracleResult train() {
    const std::uint64_t passes =
        job_.train.steps ? job_.data.repeat.value_or(1) : job_.train.epochs.value_or(1);
    for (std::uint64_t epoch = 1; passes == 0 || epoch <= passes; ++epoch) {
      if (!train_epoch(epoch)) break;
      if (job_.train.evaluate && data_.has_test()) evaluate(epoch);
      if (enough()) break;
    }
    result_.weights_sha256 = state_sha256(state_);
    return std::move(result_);
  }

 private:
  bool enough() const { return job_.train.steps && result_.steps == *job_.train.steps; }

  // False: the epoch has no step at all, and there will be none.
  bool train_epoch(std::uint64_t epoch) {
    const std::uint64_t before = result_.steps;
    OracleEpoch row;
    epoch_loss_ = epoch_weight_ = 0;
    const auto count = [&](const OracleRecord& record) {
      for (const ShardReport& report : record.shards) row.used += report.count;
    };
    std::vector<Owed> owed;
    for (std::uint64_t turn = 0; !row.complete && !enough(); ++turn) {
      const auto late = left_out_.extract(result_.records.size() + 1);
      OracleRecord record = read(epoch, turn, [&](std::uint32_t shard) {
        return late.empty() || !late.mapped().contains(shard) ? 0u : ShardReport::kLeftOut;
      });
      if (!late.empty()) owed.emplace_back(turn, late.mapped());
      count(record);
      const bool empty = record.weight == 0;
      keep(std::move(record));
      if (!empty) continue;
      // Only those are left that were gone on without: they are waited for, and go on behind that.
      row.complete = late.empty();
      for (const auto& [owed_turn, shards] : std::exchange(owed, {})) {
        row.complete = row.complete && !enough();
        if (enough()) break;
        OracleRecord paid = read(epoch, owed_turn, [&, &shards = shards](std::uint32_t shard) {
          return shards.contains(shard) ? 0u : 1u;
        });
        count(paid);
        keep(std::move(paid));
      }
    }
    if (row.used + data_.dropped() == data_.samples()) row.complete = true;
    row.dropped = row.complete ? data_.dropped() : 0;
    row.steps = result_.steps;
    row.samples = result_.samples;
    row.train_loss = epoch_weight_ > 0 ? epoch_loss_ / epoch_weight_ : 0;
    result_.epochs.push_back(row);
    return result_.steps > before;
  }

  // One turn of all shards: their reports, and the sum of their gradients. `absent` gives the report of a
  // shard that takes no part; 0 of one that does.
  template <class Absent>
  OracleRecord read(std::uint64_t epoch, std::uint64_t turn, Absent&& absent) {
    OracleRecord record{RoundKind::train, epoch, false, result_.steps, 0, {}, {}, 0, 0, 0};
    leaves_.assign(job_.train.shards, std::nullopt);
    next_left_out_ = left_out_by_shards_;
    for (std::uint32_t shard = 0; shard < job_.train.shards; ++shard) {
      if (const std::uint32_t ended = absent(shard)) {
        record.shards.push_back({shard, ended, 0, 0, 0, 0, 0});
        continue;
      }
      const plain::MicroBatch batch = data_.train(shard, epoch, turn);
      const auto rows = static_cast<std::uint32_t>(batch.rows.size());
      ShardReport report{shard, rows == 0 ? 1u : 0u, 0, 0, batch.first, batch.count, 0};
      if (rows > 0) {
        leaves_[shard] = model_.gradient(state_, batch);
        epoch_loss_ += model_.loss(state_, batch);
        epoch_weight_ += rows;
        result_.samples += rows;
        if (powersgd_) {
          for (std::size_t i = 0; i < parameters(); ++i)
            (*leaves_[shard])[i] += left_out_by_shards_[shard][i];
        } else if (job_.train.shards_have_state())
          keep_largest(*leaves_[shard], parameters(), job_.train.compression.ratio,
                       oracle::numbers_of(wire_of(job_)), next_left_out_[shard]);
        report.rows = rows;
        report.is_short = rows < job_.train.batch && !data_.counts_batches() ? 1 : 0;
        report.weight = rows;
        record.weight += report.weight;
      }
      record.shards.push_back(report);
    }
    return record;
  }

  // Where nothing weighs anything, nothing is applied.
  void keep(OracleRecord record) {
    if (record.weight > 0) return apply(record);
    push(std::move(record));
  }

  void push(OracleRecord record) {
    record.state = fingerprint_of(state_);
    record.optimizer = fingerprint_of(optimizer_.vectors());
    std::vector<float> left_out;
    for (const auto& of_shard : left_out_by_shards_)
      left_out.insert(left_out.end(), of_shard.begin(), of_shard.end());
    if (job_.train.shards_have_state()) record.shard_states = fingerprint_of(left_out);
    result_.records.push_back(std::move(record));
  }

  std::size_t parameters() const { return model_.parameters(); }

  std::vector<float> mean(const Leaves& leaves, double weight) const {
    const oracle::Numbers numbers = oracle::numbers_of(wire_of(job_));
    auto all = *sum(leaves, 0, power_of_two_from(leaves.size()), numbers);
    for (float& value : all) value = oracle::rounded(value / static_cast<float>(weight), numbers);
    return all;
  }

  // The arithmetic of PowerSGD is the product's, which has tests of its own; the order of things is not.
  std::vector<float> low_rank(double weight) {
    const oracle::Numbers numbers = oracle::numbers_of(wire_of(job_));
    Leaves firsts(leaves_.size()), second_ones(leaves_.size());
    for (std::size_t shard = 0; shard < leaves_.size(); ++shard) {
      if (leaves_[shard]) powersgd_->project(*leaves_[shard], q_, firsts[shard].emplace(powersgd_->first()));
    }
    auto first = mean(firsts, weight);
    powersgd_->orthonormalize(first);
    for (std::size_t shard = 0; shard < leaves_.size(); ++shard) {
      if (!leaves_[shard]) continue;
      auto& second = second_ones[shard].emplace(powersgd_->second());
      powersgd_->project_back(*leaves_[shard], first, second);
      oracle::round_all(second_ones[shard], numbers);
      next_left_out_[shard].assign(leaves_[shard]->begin(),
                                   leaves_[shard]->begin() + static_cast<std::ptrdiff_t>(parameters()));
      powersgd_->leave(first, second, next_left_out_[shard]);
    }
    const auto second = mean(second_ones, weight);
    powersgd_->keep(second, q_);
    std::vector<float> change(state_.size());
    powersgd_->change(first, second, change);
    return change;
  }

  void apply(OracleRecord& record) {
    auto gradient = powersgd_ ? low_rank(record.weight) : mean(leaves_, record.weight);
    if (job_.train.clip_norm) oracle::clip(std::span(gradient).first(parameters()), *job_.train.clip_norm);
    optimizer_.update(++result_.steps, state_, gradient);
    left_out_by_shards_ = next_left_out_;
    record.is_step = true;
    record.step = result_.steps;
    push(std::move(record));
  }

  void evaluate(std::uint64_t epoch) {
    OracleRecord record{RoundKind::evaluate, epoch, false, result_.steps, 0, {}, {}, 0, 0, 0};
    double loss = 0, weight = 0;
    for (std::uint32_t shard = 0; shard < job_.train.shards; ++shard) {
      ShardMetrics sums{shard, 0, 0, 0, 0};
      std::uint64_t turn = 0;
      for (;; ++turn) {
        const plain::MicroBatch batch = data_.test(shard, turn);
        if (batch.rows.empty()) break;
        sums.loss += model_.loss(state_, batch);
        sums.weight += static_cast<double>(batch.rows.size());
      }
      if (turn > 0) record.metrics.push_back(sums);
      loss += sums.loss;
      weight += sums.weight;
    }
    if (weight > 0) result_.epochs.back().loss = loss / weight;
    record.step = result_.steps;
    push(std::move(record));
  }

  const Job job_;
  LeftOut left_out_;
  plain::Data data_;
  plain::Linear model_;
  std::vector<float> state_;
  plain::Optimizer optimizer_;
  Leaves leaves_;
  std::vector<std::vector<float>> left_out_by_shards_, next_left_out_;  // by compression
  std::unique_ptr<PowerSgd> powersgd_;
  std::vector<float> q_;
  double epoch_loss_ = 0, epoch_weight_ = 0;
  OracleResult result_;
};

}  // namespace

std::set<std::uint32_t> left_out_of(std::span<const ShardReport> reports) {
  std::set<std::uint32_t> shards;
  for (const ShardReport& report : reports) {
    if (report.ended == ShardReport::kLeftOut) shards.insert(report.shard);
  }
  return shards;
}

std::uint64_t fingerprint_of(std::span<const float> state) {
  return hash_words(kHashStart, std::as_bytes(state));
}

OracleResult train_plainly(const Job& job, const Registry& registry, const LeftOut& left_out) {
  return Plain(job, registry, left_out).train();
}

}  // namespace muster::simulation
