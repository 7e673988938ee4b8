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

class FailingSource final : public IndexedSource {
 public:
  FailingSource(std::unique_ptr<Source> source, Errors errors)
      : source_(std::move(source)), errors_(std::move(errors)) {}

  std::uint64_t size() const override { return source_->indexed()->size(); }
  const std::vector<Field>& fields() const override { return source_->indexed()->fields(); }
  std::string fingerprint() const override { return source_->fingerprint(); }
  std::uint64_t resident_bytes() const override { return source_->resident_bytes(); }
  void read(std::uint64_t index, Row row) override {
    if (errors_->next == Planted::in_source) errors_->next = Planted::nothing, fail(*errors_);
    CursedBatch& cursed = *errors_->cursed;
    if (cursed.planted == Planted::in_source && !cursed.sample) cursed.sample = index;
    if (cursed.sample == index) fail(*errors_);
    source_->indexed()->read(index, row);
  }

 private:
  std::unique_ptr<Source> source_;
  Errors errors_;
};

}  // namespace

Registry with_errors(std::shared_ptr<const Registry> registry, const Errors& errors) {
  Registry failing = *registry;
  const Declarations& declared = registry->declarations();
  if (const auto linear = declared.models.find("linear"); linear != declared.models.end()) {
    failing.add_model(
        "linear", linear->second, [registry, errors](const Options& options, const ModelContext& context) {
          return std::make_unique<FailingModel>(registry->make_model("linear", options, context), errors);
        });
  }
  if (const auto synthetic = declared.sources.find("synthetic"); synthetic != declared.sources.end()) {
    failing.add_source("synthetic", synthetic->second, [registry, errors](const Options& options) {
      Dataset data = registry->make_source("synthetic", options);
      data.train = std::make_unique<FailingSource>(std::move(data.train), errors);
      return data;
    });
  }
  return failing;
}

}  // namespace muster::simulation
