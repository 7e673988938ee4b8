#include "tests/cluster/plain_training.hpp"

#include <gtest/gtest.h>

#include "actors/pipeline/stream.hpp"
#include "actors/trainer/trainer_state.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "muster/job_file.hpp"
#include "muster/registry.hpp"
#include "tests/support/norm_oracle.hpp"
#include "tests/support/tree_oracle.hpp"
#include "tests/support/wire_numbers.hpp"

namespace muster::cluster_test {

namespace {

// SGD as the textbook has it, one element after the other.
class PlainSgd {
 public:
  PlainSgd(const OptimizerConfig& config, std::size_t count) : config_(config), velocity_(count, 0.0f) {}

  void update(std::vector<float>& state, const std::vector<float>& gradient) {
    const auto rate = static_cast<float>(config_.learning_rate.initial);
    const auto keep = static_cast<float>(config_.momentum);
    const auto decay = static_cast<float>(config_.weight_decay);
    for (std::size_t i = 0; i < velocity_.size(); ++i) {
      const float grad = gradient[i] + decay * state[i];
      velocity_[i] = keep * velocity_[i] + grad;
      const float direction = config_.nesterov ? grad + keep * velocity_[i] : velocity_[i];
      state[i] = state[i] - rate * direction;
    }
  }

 private:
  OptimizerConfig config_;
  std::vector<float> velocity_;
};

class PlainRun {
 public:
  PlainRun(const Job& job, const Registry& registry)
      : job_(job),
        model_(registry.make_model(job.model, {"cpu", 1, job.train.precision == Precision::bfloat16})),
        data_(registry.make_source(job.data.source, job.data.options)),
        reader_(job_, data_),
        state_(model_->layout().total()),
        sgd_(job.train.optimizer, model_->layout().parameters) {
    model_->initialize(job.seed, state_);
    plain_sgd_ = job.train.optimizer.kind == OptimizerKind::sgd &&
                 job.train.optimizer.learning_rate.kind == ScheduleKind::constant;
    if (!plain_sgd_) optimizer_ = make_optimizer(job.train.optimizer, model_->layout().parameters);
  }

  PlainResult run() {
    const std::uint64_t passes =
        job_.train.steps ? job_.data.repeat.value_or(1) : job_.train.epochs.value_or(1);
    for (std::uint64_t epoch = 1; passes == 0 || epoch <= passes; ++epoch) {
      std::uint64_t step = 0;
      while (!enough() && one_step({Mode::train, epoch, step})) ++step;
      if (enough() || step == 0) break;
    }
    result_.weights_sha256 = state_sha256(state_);
    return result_;
  }

 private:
  bool enough() const { return job_.train.steps && result_.steps >= *job_.train.steps; }

  // False: every shard has ended.
  bool one_step(const Cursor& cursor) {
    std::vector<oracle::Values> leaves;
    double weight = 0;
    for (std::uint32_t shard = 0; shard < job_.train.shards; ++shard) {
      const Item item = reader_.read(shard, cursor);
      if (item.ended) {
        leaves.push_back(std::nullopt);
        continue;
      }
      leaves.emplace_back(std::vector<float>(state_.size()));
      model_->gradient(state_, *item.batch, {job_.seed, cursor.epoch, result_.steps + 1, shard},
                       *leaves.back());
      weight += model_->weight(*item.batch);
      result_.samples += item.batch->rows;
    }
    oracle::Values mean = oracle::mean(leaves, static_cast<float>(weight), oracle::numbers_of(wire_of(job_)));
    if (!mean) return false;
    if (job_.train.clip_norm)
      oracle::clip(std::span(*mean).first(model_->layout().parameters), *job_.train.clip_norm);
    apply(++result_.steps, *mean);
    return true;
  }

  void apply(std::uint64_t step, const std::vector<float>& mean) {
    const std::size_t parameters = model_->layout().parameters;
    if (plain_sgd_) {
      sgd_.update(state_, mean);
    } else {
      optimizer_->update(step, std::span(state_).first(parameters), std::span(mean).first(parameters));
    }
    for (std::size_t i = parameters; i < state_.size(); ++i) state_[i] = state_[i] + mean[i];
  }

  Job job_;
  std::unique_ptr<Model> model_;
  Dataset data_;
  BatchReader reader_;
  std::vector<float> state_;
  PlainSgd sgd_;
  std::unique_ptr<Optimizer> optimizer_;
  bool plain_sgd_ = false;
  PlainResult result_;
};

}  // namespace

PlainResult train_plainly(const std::string& file, const std::vector<std::string>& sets) {
  const Registry registry = builtin_registry();
  const ParsedJob parsed = read_job_file(file, sets, registry.declarations());
  EXPECT_TRUE(parsed.job) << render(parsed.mistakes);
  return parsed.job ? PlainRun(*parsed.job, registry).run() : PlainResult{};
}

}  // namespace muster::cluster_test
