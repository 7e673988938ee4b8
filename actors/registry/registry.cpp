#include "muster/registry.hpp"

#include "actors/registry/model_libraries.hpp"
#include "actors/sources/idx.hpp"
#include "actors/sources/synthetic.hpp"
#include "actors/sources/tokens.hpp"
#include "actors/user_calls/noted.hpp"
#include "gpu/analytic/empty.hpp"
#include "gpu/analytic/linear.hpp"
#include "gpu/optimizer/state_hash.hpp"
#include "muster/error.hpp"
#ifdef MUSTER_WITH_TORCH
#include "gpu/models/builtin.hpp"
#include "gpu/models/gpt2.hpp"
#include "gpu/models/resnet.hpp"
#include "gpu/models/script.hpp"
#include "gpu/models/torch_back_end.hpp"
#endif

namespace muster {

Registry& Registry::add_model(const std::string& name, std::vector<OptionSpec> options, ModelFactory make) {
  declarations_.models[name] = std::move(options);
  models_[name] = std::move(make);
  return *this;
}

Registry& Registry::add_source(const std::string& name, std::vector<OptionSpec> options, SourceFactory make) {
  declarations_.sources[name] = std::move(options);
  sources_[name] = std::move(make);
  return *this;
}

std::unique_ptr<Model> Registry::make_model(const std::string& name, const Options& options,
                                            const ModelContext& context) const {
  const auto found = models_.find(name);
  if (found == models_.end()) throw JobError("model.name", "no model is registered as '" + name + "'");
  return found->second(options, context);
}

Registry& Registry::take_scripts(std::vector<OptionSpec> options, ScriptFactory make) {
  declarations_.script = std::move(options);
  declarations_.hash_file = sha256_of_file;
  script_ = std::move(make);
  return *this;
}

Registry& Registry::take_libraries() {
  libraries_ = std::make_shared<ModelLibraries>();
  declarations_.hash_file = sha256_of_file;
  declarations_.open_library = [libraries = libraries_](const std::string& path) {
    return libraries->open(path).declarations().models;
  };
  return *this;
}

std::unique_ptr<Model> Registry::make_model(const ModelConfig& model, const ModelContext& context) const {
  if (!note_ && !guarded_) return make_named(model, context);
  return noted_model(
      model.shown(), [&] { return make_named(model, context); }, note_);
}

std::unique_ptr<Model> Registry::make_named(const ModelConfig& model, const ModelContext& context) const {
  if (model.file) {
    if (!script_) throw JobError("model.file", "this program reads no models from files");
    return script_(*model.file, model.content, model.options, context);
  }
  if (!model.library) return make_model(model.name, model.options, context);
  if (!libraries_) throw JobError("model.library", "this program loads no libraries");
  const Registry& library = libraries_->open(*model.library);
  const auto& models = library.declarations().models;
  return library.make_model(model.entry.value_or(models.begin()->first), model.options, context);
}

Dataset Registry::make_source(const std::string& name, const Options& options) const {
  const auto found = sources_.find(name);
  if (found == sources_.end()) throw JobError("data.source", "no source is registered as '" + name + "'");
  if (!note_ && !guarded_) return found->second(options);
  return noted_dataset(
      name, [&] { return found->second(options); }, note_);
}

#ifdef MUSTER_WITH_TORCH
namespace {
template <TorchBackEnd::Make* TorchBackEnd::*kMake>
std::unique_ptr<Model> on_torch(const Options& options, const ModelContext& context) {
  return (torch_back_end().*kMake)(options, context);
}
}  // namespace
#endif

Registry builtin_registry() {
  Registry registry;
  registry.take_libraries();
  registry.add_model("linear", linear_options(), make_linear);
  registry.add_model("empty", empty_options(), make_empty);
#ifdef MUSTER_WITH_TORCH
  registry.add_model("mlp", mlp_options(), on_torch<&TorchBackEnd::mlp>);
  registry.add_model("fashion_cnn", fashion_cnn_options(), on_torch<&TorchBackEnd::fashion_cnn>);
  registry.add_model("resnet18", resnet18_options(), on_torch<&TorchBackEnd::resnet18>);
  registry.add_model("gpt2", gpt2_options(), on_torch<&TorchBackEnd::gpt2>);
  registry.take_scripts(script_options(),
                        [](const auto&... given) { return torch_back_end().script(given...); });
#endif
  registry.add_source("idx", idx_options(), make_idx);
  registry.add_source("synthetic", synthetic_options(), make_synthetic);
  registry.add_source("tokens", tokens_options(), make_tokens);
  return registry;
}

}  // namespace muster
