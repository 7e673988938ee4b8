#include "muster/actors/contract/noted.hpp"

#include <utility>

#include "muster/config/error.hpp"

namespace muster {

void throw_unknown(const std::string& call) {
  throw Error(Advice::fix_job, call + " throws something that is no std::exception");
}

namespace {

class NotedModel final : public Model {
 public:
  NotedModel(std::unique_ptr<Model> model, const std::string& name, std::shared_ptr<CallNote> note)
      : of_("() of model '" + name + "'"), note_(std::move(note)), model_(std::move(model)) {}

  const Layout& layout() const override { return model_->layout(); }
  void initialize(std::uint64_t seed, std::span<float> state) override {
    in("initialize", [&] { model_->initialize(seed, state); });
  }
  double weight(const Batch& batch) const override {
    return in("weight", [&] { return model_->weight(batch); });
  }
  bool mixes_samples() const override { return model_->mixes_samples(); }
  bool takes_bfloat16() const override { return model_->takes_bfloat16(); }
  bool takes_cards() const override { return model_->takes_cards(); }
  std::string libraries() const override { return model_->libraries(); }
  void check_batch(const Batch& batch) const override {
    in("check_batch", [&] { model_->check_batch(batch); });
  }
  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    return in("gradient", [&] { return model_->gradient(state, batch, key, gradient); });
  }
  Metrics gradient_in_parts(std::span<const float> state, const Batch& batch, const StepKey& key,
                            std::span<float> gradient, const PartReady& ready) override {
    return in("gradient_in_parts",
              [&] { return model_->gradient_in_parts(state, batch, key, gradient, ready); });
  }
  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    return in("evaluate", [&] { return model_->evaluate(state, batch); });
  }

 private:
  template <class Call>
  auto in(const char* function, Call&& call) const -> decltype(call()) {
    return noted(note_.get(), function + of_, std::forward<Call>(call));
  }

  const std::string of_;
  const std::shared_ptr<CallNote> note_;
  const std::unique_ptr<Model> model_;
};

// What the three kinds of source share. Base: the kind.
template <class Base>
class NotedSource : public Base {
 public:
  NotedSource(std::unique_ptr<Source> source, Base& kind, const std::string& name,
              std::shared_ptr<CallNote> note)
      : of_(" of source '" + name + "'"), note_(std::move(note)), source_(std::move(source)), kind_(kind) {}

  std::string fingerprint() const override {
    return in("fingerprint()", [&] { return source_->fingerprint(); });
  }
  std::uint64_t resident_bytes() const override { return source_->resident_bytes(); }

 protected:
  template <class Call>
  auto in(const std::string& function, Call&& call) const -> decltype(call()) {
    return noted(note_.get(), function + of_, std::forward<Call>(call));
  }
  Base& kind() const { return kind_; }
  const std::string& of() const { return of_; }
  const std::shared_ptr<CallNote>& note() const { return note_; }

 private:
  const std::string of_;
  const std::shared_ptr<CallNote> note_;
  const std::unique_ptr<Source> source_;
  Base& kind_;
};

class NotedIndexed final : public NotedSource<IndexedSource> {
 public:
  using NotedSource::NotedSource;
  std::uint64_t size() const override {
    return in("size()", [&] { return kind().size(); });
  }
  const std::vector<Field>& fields() const override { return kind().fields(); }
  void read(std::uint64_t index, Row row) override {
    in("read(" + std::to_string(index) + ")", [&] { kind().read(index, row); });
  }
};

class NotedBatches final : public NotedSource<BatchSource> {
 public:
  using NotedSource::NotedSource;
  std::uint64_t size() const override {
    return in("size()", [&] { return kind().size(); });
  }
  Batch batch(std::uint64_t index) override {
    return in("batch(" + std::to_string(index) + ")", [&] { return kind().batch(index); });
  }
};

class NotedGenerator final : public Generator {
 public:
  NotedGenerator(std::unique_ptr<Generator> generator, std::string what, std::shared_ptr<CallNote> note)
      : what_(std::move(what)), note_(std::move(note)), generator_(std::move(generator)) {}
  bool next(Row row) override {
    return noted(note_.get(), what_, [&] { return generator_->next(row); });
  }

 private:
  const std::string what_;
  const std::shared_ptr<CallNote> note_;
  const std::unique_ptr<Generator> generator_;
};

class NotedGenerators final : public NotedSource<GeneratorSource> {
 public:
  using NotedSource::NotedSource;
  const std::vector<Field>& fields() const override { return kind().fields(); }
  std::unique_ptr<Generator> open(std::uint32_t shard, std::uint32_t shards, std::uint64_t epoch) override {
    const std::string place = " of shard " + std::to_string(shard) + " in epoch " + std::to_string(epoch);
    auto generator = in("open()" + place, [&] { return kind().open(shard, shards, epoch); });
    if (!generator) return nullptr;
    return std::make_unique<NotedGenerator>(std::move(generator), "next()" + place + of(), note());
  }
};

std::unique_ptr<Source> noted_source(std::unique_ptr<Source> source, const std::string& name,
                                     const std::shared_ptr<CallNote>& note) {
  if (!source) return nullptr;
  Source& given = *source;
  if (auto* kind = given.indexed())
    return std::make_unique<NotedIndexed>(std::move(source), *kind, name, note);
  if (auto* kind = given.batches())
    return std::make_unique<NotedBatches>(std::move(source), *kind, name, note);
  if (auto* kind = given.generators())
    return std::make_unique<NotedGenerators>(std::move(source), *kind, name, note);
  return source;
}

}  // namespace

std::unique_ptr<Model> noted_model(std::unique_ptr<Model> model, const std::string& name,
                                   std::shared_ptr<CallNote> note) {
  if (!model) throw JobError("model.name", "the factory of model '" + name + "' gives no model");
  return std::make_unique<NotedModel>(std::move(model), name, std::move(note));
}

Dataset noted_dataset(Dataset data, const std::string& name, std::shared_ptr<CallNote> note) {
  Dataset all;
  all.train = noted_source(std::move(data.train), name, note);
  all.test = noted_source(std::move(data.test), name, note);
  return all;
}

}  // namespace muster
