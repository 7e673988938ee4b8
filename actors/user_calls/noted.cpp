#include "actors/user_calls/noted.hpp"

#include <new>
#include <utility>

#include "actors/user_calls/exit_guard.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

// Where a call's numbers stand, in texts.
const std::string kOne{CallText::kOne}, kTwo{CallText::kTwo};

// One function of a user's code, as it is noted.
class NotedCall {
 public:
  NotedCall(std::shared_ptr<CallNote> note, UserCode code, std::string what)
      : note_(std::move(note)), code_(code), what_(std::move(what)) {}

  template <class Call>
  auto run(Call&& call, std::uint64_t one = 0, std::uint64_t two = 0) const -> decltype(call()) {
    const CallNote::Scope scope(note_.get(), code_, what_, one, two);
    const ExitGuard guard(what_, one, two);
    try {
      return call();
    } catch (const JobError&) {
      throw;  // it names the key
    } catch (const std::bad_alloc&) {
      throw Error(what_.text(one, two) + " is out of memory (std::bad_alloc)");
    } catch (const std::exception& error) {
      throw Error(what_.text(one, two) + ": " + error.what());
    } catch (...) {
      throw Error(what_.text(one, two) + " throws something that is no std::exception");
    }
  }

 private:
  std::shared_ptr<CallNote> note_;
  UserCode code_;
  CallText what_;
};

class NotedModel final : public Model {
 public:
  NotedModel(std::unique_ptr<Model> model, const std::string& name, const std::shared_ptr<CallNote>& note)
      : initialize_(note, UserCode::model, "initialize() of model '" + name + "'"),
        weight_(note, UserCode::model, "weight() of model '" + name + "'"),
        check_(note, UserCode::model, "check_batch() of model '" + name + "'"),
        gradient_(note, UserCode::model, "gradient() of model '" + name + step()),
        in_parts_(note, UserCode::model, "gradient_in_parts() of model '" + name + step()),
        evaluate_(note, UserCode::model, "evaluate() of model '" + name + "'"),
        model_(std::move(model)),
        layout_(
            NotedCall(note, UserCode::model, "layout() of model '" + name + "'").run([&]() -> const Layout& {
              return model_->layout();
            })) {}

  // Any thread asks for it, at any time.
  const Layout& layout() const override { return layout_; }
  void initialize(std::uint64_t seed, std::span<float> state) override {
    initialize_.run([&] { model_->initialize(seed, state); });
  }
  double weight(const Batch& batch) const override {
    return weight_.run([&] { return model_->weight(batch); });
  }
  bool mixes_samples() const override { return model_->mixes_samples(); }
  bool takes_bfloat16() const override { return model_->takes_bfloat16(); }
  bool computes_on_gpus() const override { return model_->computes_on_gpus(); }
  std::string libraries() const override { return model_->libraries(); }
  void check_batch(const Batch& batch) const override {
    check_.run([&] { model_->check_batch(batch); });
  }
  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    return gradient_.run([&] { return model_->gradient(state, batch, key, gradient); }, key.step, key.shard);
  }
  Metrics gradient_in_parts(std::span<const float> state, const Batch& batch, const StepKey& key,
                            std::span<float> gradient, const PartReady& ready) override {
    return in_parts_.run([&] { return model_->gradient_in_parts(state, batch, key, gradient, ready); },
                         key.step, key.shard);
  }
  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    return evaluate_.run([&] { return model_->evaluate(state, batch); });
  }

 private:
  static std::string step() { return "' (step " + kOne + ", shard " + kTwo + ")"; }

  const NotedCall initialize_, weight_, check_, gradient_, in_parts_, evaluate_;
  const std::unique_ptr<Model> model_;
  const Layout& layout_;
};

// What the three kinds of source share. Base: the kind.
template <class Base>
class NotedSource : public Base {
 public:
  NotedSource(std::unique_ptr<Source> source, Base& kind, const std::string& name,
              std::shared_ptr<CallNote> note)
      : kind_(kind), of_(" of source '" + name + "'"), note_(std::move(note)), source_(std::move(source)) {}

  std::string fingerprint() const override {
    return fingerprint_.run([&] { return source_->fingerprint(); });
  }
  std::uint64_t resident_bytes() const override { return source_->resident_bytes(); }

 protected:
  NotedCall call(const std::string& function) const { return {note_, UserCode::source, function + of_}; }
  /// Asked once, when the source is made.
  const std::vector<Field>& fields_of(const Base& kind) const {
    return call("fields()").run([&]() -> const std::vector<Field>& { return kind.fields(); });
  }

  Base& kind_;

 private:
  const std::string of_;
  const std::shared_ptr<CallNote> note_;
  const NotedCall fingerprint_ = call("fingerprint()");
  const std::unique_ptr<Source> source_;
};

class NotedIndexed final : public NotedSource<IndexedSource> {
 public:
  using NotedSource::NotedSource;
  std::uint64_t size() const override {
    return size_.run([&] { return kind_.size(); });
  }
  const std::vector<Field>& fields() const override { return fields_; }
  void read(std::uint64_t index, Row row) override {
    read_.run([&] { kind_.read(index, row); }, index);
  }

 private:
  const NotedCall size_ = call("size()"), read_ = call("read(" + kOne + ")");
  const std::vector<Field>& fields_ = fields_of(kind_);
};

class NotedBatches final : public NotedSource<BatchSource> {
 public:
  using NotedSource::NotedSource;
  std::uint64_t size() const override {
    return size_.run([&] { return kind_.size(); });
  }
  Batch batch(std::uint64_t index) override {
    return batch_.run([&] { return kind_.batch(index); }, index);
  }

 private:
  const NotedCall size_ = call("size()"), batch_ = call("batch(" + kOne + ")");
};

class NotedGenerator final : public Generator {
 public:
  NotedGenerator(std::unique_ptr<Generator> generator, NotedCall next, std::uint64_t shard,
                 std::uint64_t epoch)
      : next_(std::move(next)), shard_(shard), epoch_(epoch), generator_(std::move(generator)) {}
  bool next(Row row) override {
    return next_.run([&] { return generator_->next(row); }, shard_, epoch_);
  }

 private:
  const NotedCall next_;
  const std::uint64_t shard_, epoch_;
  const std::unique_ptr<Generator> generator_;
};

class NotedGenerators final : public NotedSource<GeneratorSource> {
 public:
  using NotedSource::NotedSource;
  const std::vector<Field>& fields() const override { return fields_; }
  std::unique_ptr<Generator> open(std::uint32_t shard, std::uint32_t shards, std::uint64_t epoch) override {
    auto generator = open_.run([&] { return kind_.open(shard, shards, epoch); }, shard, epoch);
    if (!generator) return nullptr;
    return std::make_unique<NotedGenerator>(std::move(generator), next_, shard, epoch);
  }

 private:
  const NotedCall open_ = call("open(), shard " + kOne + " in epoch " + kTwo + ","),
                  next_ = call("next(), shard " + kOne + " in epoch " + kTwo + ",");
  const std::vector<Field>& fields_ = fields_of(kind_);
};

// What the user's code throws while it is made is about what the job names by this key.
template <class Make>
auto made(const std::string& key, const Make& make) {
  try {
    return make();
  } catch (const JobError&) {
    throw;
  } catch (const Error& error) {
    throw JobError(key, error.what());
  }
}

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

std::unique_ptr<Model> noted_model(const std::string& name,
                                   const std::function<std::unique_ptr<Model>()>& make,
                                   std::shared_ptr<CallNote> note) {
  const std::string key = "model.name";
  auto model =
      made(key, [&] { return NotedCall(note, UserCode::model, "making model '" + name + "'").run(make); });
  if (!model) throw JobError(key, "the factory of model '" + name + "' gives no model");
  return made(key, [&] { return std::make_unique<NotedModel>(std::move(model), name, note); });
}

Dataset noted_dataset(const std::string& name, const std::function<Dataset()>& make,
                      std::shared_ptr<CallNote> note) {
  return made("data.source", [&] {
    Dataset data = NotedCall(note, UserCode::source, "making source '" + name + "'").run(make);
    return Dataset{noted_source(std::move(data.train), name, note),
                   noted_source(std::move(data.test), name, note)};
  });
}

}  // namespace muster
