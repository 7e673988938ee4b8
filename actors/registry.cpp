#include "muster/actors/registry.hpp"

#include "muster/actors/pipeline/idx.hpp"
#include "muster/actors/pipeline/synthetic.hpp"
#include "muster/actors/pipeline/tokens.hpp"
#include "muster/config/error.hpp"
#include "muster/gpu/analytic/empty.hpp"
#include "muster/gpu/analytic/linear.hpp"
#ifdef MUSTER_WITH_TORCH
#include "muster/gpu/torch/builtin.hpp"
#include "muster/gpu/torch/gpt2.hpp"
#include "muster/gpu/torch/resnet.hpp"
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

Dataset Registry::make_source(const std::string& name, const Options& options) const {
  const auto found = sources_.find(name);
  if (found == sources_.end()) throw JobError("data.source", "no source is registered as '" + name + "'");
  return found->second(options);
}

Registry builtin_registry() {
  Registry registry;
  registry.add_model("linear", linear_options(), make_linear);
  registry.add_model("empty", empty_options(), make_empty);
#ifdef MUSTER_WITH_TORCH
  registry.add_model("mlp", mlp_options(), make_mlp);
  registry.add_model("fashion_cnn", fashion_cnn_options(), make_fashion_cnn);
  registry.add_model("resnet18", resnet18_options(), make_resnet18);
  registry.add_model("gpt2", gpt2_options(), make_gpt2);
#endif
  registry.add_source("idx", idx_options(), make_idx);
  registry.add_source("synthetic", synthetic_options(), make_synthetic);
  registry.add_source("tokens", tokens_options(), make_tokens);
  return registry;
}

}  // namespace muster
