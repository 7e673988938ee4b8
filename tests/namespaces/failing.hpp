// A model and a source that fail. "failing": the linear model, whose gradient fails in the process with whose
// number there is a file (its evaluation: a file of another name), or for one shard at one step in every
// process. "unreadable": the synthetic source, which cannot be read in the process with whose number there is
// a file.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/analytic/linear.hpp"
#include "muster/error.hpp"
#include "muster/registry.hpp"

namespace muster::failing {

inline bool told_to_fail(const std::string& path) {
  return ::access((path + "." + std::to_string(::getpid())).c_str(), F_OK) == 0;
}

class FailingModel : public Model {
 public:
  FailingModel(std::unique_ptr<Model> model, const Options& given)
      : model_(std::move(model)),
        fail_(option<std::string>(given, "fail")),
        step_(static_cast<std::uint64_t>(option<std::int64_t>(given, "fail_step"))),
        shard_(static_cast<std::uint32_t>(option<std::int64_t>(given, "fail_shard"))) {}

  const Layout& layout() const override { return model_->layout(); }
  void initialize(std::uint64_t seed, std::span<float> state) override { model_->initialize(seed, state); }
  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    if (told_to_fail(fail_)) throw std::bad_alloc();
    if (key.step == step_ && key.shard == shard_) throw Error("no answer for this sample");
    return model_->gradient(state, batch, key, gradient);
  }
  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    if (told_to_fail(fail_ + ".evaluate")) throw std::bad_alloc();
    return model_->evaluate(state, batch);
  }

 private:
  std::unique_ptr<Model> model_;
  std::string fail_;
  std::uint64_t step_;
  std::uint32_t shard_;
};

class UnreadableSource : public IndexedSource {
 public:
  UnreadableSource(std::unique_ptr<Source> source, std::string fail)
      : source_(std::move(source)), fail_(std::move(fail)) {}

  std::uint64_t size() const override { return source_->indexed()->size(); }
  const std::vector<Field>& fields() const override { return source_->indexed()->fields(); }
  std::string fingerprint() const override { return source_->fingerprint(); }
  void read(std::uint64_t index, Row row) override {
    if (told_to_fail(fail_)) throw Error("Input/output error");
    source_->indexed()->read(index, row);
  }

 private:
  std::unique_ptr<Source> source_;
  std::string fail_;
};

inline OptionSpec fail_option() {
  OptionSpec fail;
  fail.key = "fail";
  fail.type = OptionType::text;
  fail.help = "it fails in the process for which there is a file of this name, a dot and its number";
  fail.default_value = Option(std::string("nowhere"));
  return fail;
}

inline OptionSpec number_option(const char* key, const char* help) {
  OptionSpec number;
  number.key = key;
  number.type = OptionType::integer;
  number.help = help;
  number.default_value = Option(std::int64_t{0});
  return number;
}

inline void add_to(Registry& registry) {
  const Registry builtin = builtin_registry();
  std::vector<OptionSpec> model = linear_options();
  model.push_back(fail_option());
  model.push_back(number_option("fail_step", "the step at which the gradient of fail_shard fails; 0: none"));
  model.push_back(number_option("fail_shard", "see fail_step"));
  registry.add_model("failing", model, [](const Options& given, const ModelContext& context) {
    return std::make_unique<FailingModel>(make_linear(given, context), given);
  });
  std::vector<OptionSpec> source = builtin.declarations().sources.at("synthetic");
  source.push_back(fail_option());
  registry.add_source("unreadable", source, [builtin](const Options& given) {
    Dataset data = builtin.make_source("synthetic", given);
    data.train =
        std::make_unique<UnreadableSource>(std::move(data.train), option<std::string>(given, "fail"));
    return data;
  });
}

}  // namespace muster::failing
