#include "tests/simulation/planted_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "muster/error.hpp"

namespace muster::simulation {

namespace {

using Errors = std::shared_ptr<PlantedErrors>;

[[noreturn]] void fail(PlantedErrors& errors) {
  errors.thrown = true;
  throw Error(kPlantedError);
}

bool same(const StepKey& a, const StepKey& b) {
  return a.epoch == b.epoch && a.step == b.step && a.shard == b.shard;
}

class FailingModel final : public Model {
 public:
  FailingModel(std::unique_ptr<Model> model, Errors errors)
      : model_(std::move(model)), errors_(std::move(errors)) {}

  const Layout& layout() const override { return model_->layout(); }
  void initialize(std::uint64_t seed, std::span<float> state) override {
    model_->initialize(seed, state);
    if (errors_->unlike) state[0] = std::nextafter(state[0], 2.0f);
  }
  double weight(const Batch& batch) const override { return model_->weight(batch); }
  bool mixes_samples() const override { return model_->mixes_samples(); }
  bool takes_bfloat16() const override { return model_->takes_bfloat16(); }
  bool computes_on_gpus() const override { return model_->computes_on_gpus(); }
  std::string libraries() const override { return model_->libraries(); }
  void check_batch(const Batch& batch) const override { model_->check_batch(batch); }
  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    may_fail(key);
    return spoiled(key, model_->gradient(state, batch, key, gradient));
  }
  Metrics gradient_in_parts(std::span<const float> state, const Batch& batch, const StepKey& key,
                            std::span<float> gradient, const PartReady& ready) override {
    may_fail(key);
    return spoiled(key, model_->gradient_in_parts(state, batch, key, gradient, ready));
  }
  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    return model_->evaluate(state, batch);
  }

 private:
  Metrics spoiled(const StepKey& key, Metrics metrics) {
    SpoiledBatch& batch = *errors_->spoiled;
    batch.newest = std::max(batch.newest, key.step);
    if (batch.planted && !batch.key) batch.key = StepKey{key.seed, key.epoch, batch.newest + 1, key.shard};
    const bool is_it = batch.key && batch.key->step == key.step && batch.key->shard == key.shard;
    if (is_it) metrics.loss = std::numeric_limits<double>::quiet_NaN();
    return metrics;
  }
  void may_fail(const StepKey& key) {
    if (errors_->next == Planted::in_model) errors_->next = Planted::nothing, fail(*errors_);
    CursedBatch& cursed = *errors_->cursed;
    if (cursed.planted != Planted::in_model && cursed.planted != Planted::hangs) return;
    if (!cursed.key) cursed.key = key;
    if (!same(*cursed.key, key)) return;
    if (cursed.planted == Planted::hangs) {
      errors_->hangs = true;
      throw DoesNotReturn{key};
    }
    fail(*errors_);
  }

  std::unique_ptr<Model> model_;
  Errors errors_;
};

// One sample, or one ready-made batch, is about to be read.
void may_fail_at(const SampleName& sample, PlantedErrors& errors) {
  if (errors.next == Planted::in_source) errors.next = Planted::nothing, fail(errors);
  CursedBatch& cursed = *errors.cursed;
  if (cursed.planted == Planted::in_source && !cursed.sample) cursed.sample = sample;
  if (cursed.sample == sample) fail(errors);
}

// One of the kinds of sources, whose reads may fail.
template <class Kind>
class Failing : public Kind {
 public:
  Failing(std::unique_ptr<Source> source, Errors errors)
      : source_(std::move(source)), errors_(std::move(errors)) {}

  std::string fingerprint() const override { return source_->fingerprint(); }
  std::uint64_t resident_bytes() const override { return source_->resident_bytes(); }

 protected:
  std::unique_ptr<Source> source_;
  Errors errors_;
};

class FailingSamples final : public Failing<IndexedSource> {
 public:
  using Failing::Failing;

  std::uint64_t size() const override { return source_->indexed()->size(); }
  const std::vector<Field>& fields() const override { return source_->indexed()->fields(); }
  void read(std::uint64_t index, Row row) override {
    may_fail_at({0, 0, index}, *errors_);
    source_->indexed()->read(index, row);
  }
};

class FailingBatches final : public Failing<BatchSource> {
 public:
  using Failing::Failing;

  std::uint64_t size() const override { return source_->batches()->size(); }
  Batch batch(std::uint64_t index) override {
    may_fail_at({0, 0, index}, *errors_);
    return source_->batches()->batch(index);
  }
};

class FailingGenerators final : public Failing<GeneratorSource> {
 public:
  using Failing::Failing;

  const std::vector<Field>& fields() const override { return source_->generators()->fields(); }
  std::unique_ptr<Generator> open(std::uint32_t shard, std::uint32_t shards, std::uint64_t epoch) override {
    struct Stream final : Generator {
      bool next(Row row) override {
        may_fail_at(sample, *errors);
        ++sample.index;
        return of->next(row);
      }
      std::unique_ptr<Generator> of;
      Errors errors;
      SampleName sample;
    };
    auto stream = std::make_unique<Stream>();
    stream->of = source_->generators()->open(shard, shards, epoch);
    stream->errors = errors_;
    stream->sample = {shard, epoch, 0};
    return stream;
  }
};

std::unique_ptr<Source> failing(std::unique_ptr<Source> source, const Errors& errors) {
  if (source->indexed()) return std::make_unique<FailingSamples>(std::move(source), errors);
  if (source->batches()) return std::make_unique<FailingBatches>(std::move(source), errors);
  return std::make_unique<FailingGenerators>(std::move(source), errors);
}

}  // namespace

Registry with_errors(std::shared_ptr<const Registry> registry, const Errors& errors) {
  Registry failing_registry = *registry;
  const Declarations& declared = registry->declarations();
  if (const auto linear = declared.models.find("linear"); linear != declared.models.end()) {
    failing_registry.add_model(
        "linear", linear->second, [registry, errors](const Options& options, const ModelContext& context) {
          return std::make_unique<FailingModel>(registry->make_model("linear", options, context), errors);
        });
  }
  for (const auto& [name, options_of] : declared.sources) {
    failing_registry.add_source(name, options_of, [registry, errors, name = name](const Options& options) {
      if (errors->no_data) throw Error(kPlantedError);
      Dataset data = registry->make_source(name, options);
      data.train = failing(std::move(data.train), errors);
      return data;
    });
  }
  return failing_registry;
}

}  // namespace muster::simulation
