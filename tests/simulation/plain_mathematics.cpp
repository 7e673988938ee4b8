#include "tests/simulation/plain_mathematics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.hpp"
#include "tests/simulation/sources.hpp"

namespace muster::simulation::plain {

namespace {

constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
constexpr std::uint64_t kWeights = 1, kTrain = 2, kTest = 3;

// The finalizer of SplitMix64 with Stafford's constants "Mix13".
std::uint64_t mixed(std::uint64_t z) {
  z ^= z >> 30;
  z *= 0xbf58476d1ce4e5b9;
  z ^= z >> 27;
  z *= 0x94d049bb133111eb;
  z ^= z >> 31;
  return z;
}

// From -1 up to 1: the upper 24 bits as a multiple of 2^-23.
float signed_unit(std::uint64_t bits) {
  return static_cast<float>(static_cast<double>(bits >> 40) / 8388608.0 - 1.0);
}

std::uint64_t key_of(std::uint64_t seed, std::uint64_t stream) {
  return mixed(mixed(seed + kGamma) ^ stream);
}

std::uint64_t number(const Options& options, const char* key, std::uint64_t fallback) {
  if (options.count(key) == 0) return fallback;
  return static_cast<std::uint64_t>(option<std::int64_t>(options, key));
}

// Twelve rounds of a Feistel network on the bits that `size` needs; whoever lands beyond walks on.
std::vector<std::uint64_t> permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch) {
  unsigned bits = 0;
  while (size > 1 && (size - 1) >> bits != 0) ++bits;
  const unsigned high = bits / 2, low = bits - high;
  std::uint64_t keys[12];
  std::uint64_t key = mixed(mixed(seed + kGamma) ^ epoch);
  for (std::uint64_t& each : keys) {
    key += kGamma;
    each = mixed(key);
  }
  std::vector<std::uint64_t> order;
  for (std::uint64_t position = 0; position < size; ++position) {
    std::uint64_t value = position;
    do {
      std::uint64_t left = value >> low, right = value % (std::uint64_t{1} << low);
      for (int round = 0; round < 12; ++round) {
        std::uint64_t& half = round % 2 == 0 ? left : right;
        const std::uint64_t other = round % 2 == 0 ? right : left;
        half ^= mixed(other + keys[round]) % (std::uint64_t{1} << (round % 2 == 0 ? high : low));
      }
      value = left << low | right;
    } while (value >= size);
    order.push_back(value);
  }
  return order;
}

double whole_power(double base, std::uint64_t exponent) {
  double result = 1;
  while (exponent != 0) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
    exponent /= 2;
  }
  return result;
}

}  // namespace

// ---- data

namespace {

std::vector<float> weights_of(const Shape& shape) {  // [outputs][inputs]
  std::vector<float> weights;
  for (std::uint64_t i = 0; i < shape.inputs * shape.outputs; ++i)
    weights.push_back(signed_unit(mixed(key_of(shape.seed, kWeights) + i * kGamma)));
  return weights;
}

// y is W x and a little noise.
Sample made(const Shape& shape, std::uint64_t key, const std::vector<float>& weights) {
  Sample sample;
  for (std::uint64_t i = 0; i < shape.inputs; ++i) sample.x.push_back(signed_unit(mixed(key + i * kGamma)));
  for (std::uint64_t o = 0; o < shape.outputs; ++o) {
    float y = 0.05f * signed_unit(mixed(key + (shape.inputs + o) * kGamma));
    for (std::uint64_t i = 0; i < shape.inputs; ++i) y = y + weights[o * shape.inputs + i] * sample.x[i];
    sample.y.push_back(y);
  }
  return sample;
}

}  // namespace

Sample sample_of(const Shape& shape, std::uint64_t index) {
  return made(shape, mixed(key_of(shape.seed, kTrain) ^ index), weights_of(shape));
}

Data::Data(const Job& job)
    : source_(job.data.source),
      seed_(job.seed),
      shape_{number(job.data.options, "seed", 1), number(job.data.options, "inputs", 16),
             number(job.data.options, "outputs", 1)},
      shards_(job.train.shards),
      batch_(job.train.batch),
      shuffles_(job.data.shuffle.value_or(true)),
      drops_(job.train.remainder == Remainder::drop),
      given_(number(job.data.options, "samples", 4096)) {
  MUSTER_CHECK(source_ == "synthetic" || source_ == "generated" || source_ == "ready", source_);
  const std::uint64_t first = std::min(job.data.skip, given_);
  const std::uint64_t count = std::min(job.data.take.value_or(given_), given_ - first);
  const std::vector<float> weights = weights_of(shape_);
  const std::uint64_t train = key_of(shape_.seed, kTrain);
  for (std::uint64_t index = first; source_ == "synthetic" && index < first + count; ++index)
    train_.push_back(made(shape_, mixed(train ^ index), weights));
  for (std::uint64_t index = first; source_ == "ready" && index < first + count; ++index) {
    ready_.emplace_back();
    for (std::uint64_t row = 0; row < ready_rows(index); ++row)
      ready_.back().push_back(made(shape_, mixed(train ^ ready_index(index, row)), weights));
  }
  for (std::uint64_t index = 0; index < number(job.data.options, "test_samples", 0); ++index)
    test_.push_back(made(shape_, mixed(key_of(shape_.seed, kTest) ^ index), weights));
  test_order_.resize(test_.size());
  std::iota(test_order_.begin(), test_order_.end(), std::uint64_t{0});
}

std::optional<std::uint64_t> Data::samples() const {
  if (source_ == "generated") return std::nullopt;
  return source_ == "ready" ? ready_.size() : train_.size();
}

// One after the other, each with a length of its own.
MicroBatch Data::generated(std::uint32_t shard, std::uint64_t epoch, std::uint64_t turn) {
  train_.clear();
  const std::vector<float> weights = weights_of(shape_);
  const std::uint64_t train = key_of(shape_.seed, kTrain);
  const auto shards = static_cast<std::uint32_t>(shards_);
  const std::uint64_t end = std::min((turn + 1) * batch_, generated_length(given_, shard, shards, epoch));
  for (std::uint64_t local = turn * batch_; local < end; ++local)
    train_.push_back(made(shape_, mixed(train ^ generated_index(shard, epoch, local)), weights));
  MicroBatch batch;
  for (const Sample& sample : train_) batch.rows.push_back(&sample);
  batch.count = train_.size();
  if (batch.count > 0) batch.first = turn * batch_;
  return batch;
}

// Batch number p is the one of shard p mod S at step p div S.
MicroBatch Data::ready(std::uint32_t shard, std::uint64_t turn) const {
  MicroBatch batch;
  const std::uint64_t position = turn * shards_ + shard;
  if (position >= ready_.size()) return batch;
  for (const Sample& sample : ready_[position]) batch.rows.push_back(&sample);
  batch.first = turn;
  batch.count = 1;
  return batch;
}

std::uint64_t Data::dropped() const {
  return drops_ ? train_.size() % (shards_ * batch_) : 0;
}

// Sample number p of the order is sample p div S of shard p mod S.
MicroBatch Data::cut(std::uint32_t shard, std::uint64_t turn, const std::vector<Sample>& samples,
                     const std::vector<std::uint64_t>& order) const {
  MicroBatch batch;
  for (std::uint64_t local = turn * batch_; local < (turn + 1) * batch_; ++local) {
    const std::uint64_t position = local * shards_ + shard;
    if (position < order.size()) batch.rows.push_back(&samples[order[position]]);
  }
  if (!batch.rows.empty()) batch.first = turn * batch_;
  batch.count = batch.rows.size();
  return batch;
}

MicroBatch Data::train(std::uint32_t shard, std::uint64_t epoch, std::uint64_t turn) {
  if (source_ == "generated") return generated(shard, epoch, turn);
  if (source_ == "ready") return ready(shard, turn);
  if (drops_ && turn >= train_.size() / (shards_ * batch_)) return {};
  if (epoch_ != epoch) {
    epoch_ = epoch;
    order_ = permutation(train_.size(), seed_, epoch);
    if (!shuffles_) std::iota(order_.begin(), order_.end(), std::uint64_t{0});
  }
  return cut(shard, turn, train_, order_);
}

MicroBatch Data::test(std::uint32_t shard, std::uint64_t turn) const {
  return cut(shard, turn, test_, test_order_);
}

// ---- model

Linear::Linear(const Job& job)
    : inputs_(number(job.model.options, "inputs", 1)), outputs_(number(job.model.options, "outputs", 1)) {
  MUSTER_CHECK(job.model.name == "linear");
}

std::vector<float> Linear::initial(std::uint64_t seed) const {
  const auto bound = static_cast<float>(1.0 / std::sqrt(static_cast<double>(inputs_)));
  std::vector<float> state;
  for (std::size_t i = 0; i < parameters(); ++i)
    state.push_back(bound * signed_unit(mixed(seed + (i + 1) * kGamma)));
  return state;
}

std::vector<float> Linear::errors(std::span<const float> state, const Sample& sample) const {
  std::vector<float> errors;
  for (std::size_t o = 0; o < outputs_; ++o) {
    float sum = state[outputs_ * inputs_ + o];
    for (std::size_t i = 0; i < inputs_; ++i) sum = sum + state[o * inputs_ + i] * sample.x[i];
    errors.push_back(sum - sample.y[o]);
  }
  return errors;
}

std::vector<float> Linear::gradient(std::span<const float> state, const MicroBatch& batch) const {
  std::vector<float> gradient(parameters(), 0.0f);
  for (const Sample* sample : batch.rows) {
    const std::vector<float> error = errors(state, *sample);
    for (std::size_t o = 0; o < outputs_; ++o) {
      for (std::size_t i = 0; i < inputs_; ++i)
        gradient[o * inputs_ + i] = gradient[o * inputs_ + i] + 2.0f * error[o] * sample->x[i];
      gradient[outputs_ * inputs_ + o] = gradient[outputs_ * inputs_ + o] + 2.0f * error[o];
    }
  }
  return gradient;
}

double Linear::loss(std::span<const float> state, const MicroBatch& batch) const {
  double loss = 0;
  for (const Sample* sample : batch.rows) {
    for (const float error : errors(state, *sample)) loss += double{error} * double{error};
  }
  return loss;
}

// ---- optimizer

Optimizer::Optimizer(const OptimizerConfig& config, std::size_t parameters)
    : config_(config), first_(parameters, 0.0f), second_(parameters, 0.0f) {
  MUSTER_CHECK(config.learning_rate.kind == ScheduleKind::constant ||
               config.learning_rate.kind == ScheduleKind::warm_up);
}

void Optimizer::update(std::uint64_t step, std::span<float> state, std::span<const float> gradient) {
  double rate = config_.learning_rate.initial;
  const std::uint64_t warm_up = config_.learning_rate.warm_up;
  if (step < warm_up) rate = rate * (static_cast<double>(step) / static_cast<double>(warm_up));
  if (config_.kind == OptimizerKind::sgd) return descend(rate, state, gradient);
  adam(step, rate, state, gradient);
}

std::vector<float> Optimizer::vectors() const {
  if (config_.kind == OptimizerKind::sgd) return config_.momentum != 0 ? first_ : std::vector<float>{};
  std::vector<float> all = first_;
  all.insert(all.end(), second_.begin(), second_.end());
  return all;
}

void Optimizer::descend(double rate, std::span<float> state, std::span<const float> gradient) {
  const auto lr = static_cast<float>(rate), decay = static_cast<float>(config_.weight_decay),
             keep = static_cast<float>(config_.momentum);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float grad = gradient[i] + decay * state[i];
    first_[i] = keep * first_[i] + grad;
    float step_size = grad;
    if (config_.momentum != 0) step_size = config_.nesterov ? grad + keep * first_[i] : first_[i];
    state[i] = state[i] - lr * step_size;
  }
}

// Kingma and Ba 2015; AdamW after Loshchilov and Hutter 2019.
void Optimizer::adam(std::uint64_t step, double rate, std::span<float> state,
                     std::span<const float> gradient) {
  const bool decoupled = config_.kind == OptimizerKind::adamw;
  const auto b1 = static_cast<float>(config_.beta1), r1 = static_cast<float>(1 - config_.beta1);
  const auto b2 = static_cast<float>(config_.beta2), r2 = static_cast<float>(1 - config_.beta2);
  const auto epsilon = static_cast<float>(config_.epsilon);
  const float decay = decoupled ? 0.0f : static_cast<float>(config_.weight_decay);
  const float shrink = decoupled ? static_cast<float>(1 - rate * config_.weight_decay) : 1.0f;
  const auto size = static_cast<float>(rate / (1 - whole_power(config_.beta1, step)));
  const auto scale = static_cast<float>(std::sqrt(1 - whole_power(config_.beta2, step)));
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float weight = state[i] * shrink;
    const float grad = gradient[i] + decay * weight;
    first_[i] = b1 * first_[i] + r1 * grad;
    second_[i] = b2 * second_[i] + r2 * grad * grad;
    state[i] = weight - size * first_[i] / (std::sqrt(second_[i]) / scale + epsilon);
  }
}

}  // namespace muster::simulation::plain
