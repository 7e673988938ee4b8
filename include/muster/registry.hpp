// The models and sources that a job may name: the built-in ones, and those that an embedding program adds.
// Every process of a run has the same registry, because every process is the same executable.
//
//   #include "muster/registry.hpp"
//
//   std::unique_ptr<muster::Model> make_mine(const muster::Options&, const muster::ModelContext&);
//   muster::Dataset open_mine(const muster::Options&);
//
//   muster::Registry registry() {
//     muster::Registry registry = muster::builtin_registry();
//     registry.add_model("mine", {}, make_mine);
//     registry.add_source("mine", {}, open_mine);
//     return registry;
//   }
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/job.hpp"
#include "muster/model.hpp"
#include "muster/options.hpp"
#include "muster/source.hpp"

namespace muster {

class CallNote;
class ModelLibraries;

/// Makes a model from its checked options, for one replica, which owns it. Throws Error if it cannot.
using ModelFactory = std::function<std::unique_ptr<Model>(const Options&, const ModelContext&)>;
/// Makes a model from the file at `path`, whose content must have this SHA-256.
using ScriptFactory = std::function<std::unique_ptr<Model>(const std::string& path, const std::string& sha256,
                                                           const Options&, const ModelContext&)>;
/// Opens the data from its checked options, for one node, which owns it. Throws Error if it cannot.
using SourceFactory = std::function<Dataset(const Options&)>;

/// Models and sources by name. A value: fill it before a run begins; copies
/// share the libraries that they have loaded.
class Registry {
 public:
  /// A model under a name, with the options that it declares. A name that is there already is replaced.
  Registry& add_model(const std::string& name, std::vector<OptionSpec> options, ModelFactory make);
  /// A source under a name, with the options that it declares. A name that is there already is replaced.
  Registry& add_source(const std::string& name, std::vector<OptionSpec> options, SourceFactory make);

  /// Lets jobs name a file (model.file) in place of a model's name. `options`: what stands beside it.
  Registry& take_scripts(std::vector<OptionSpec> options, ScriptFactory make);
  /// Lets jobs name a library (model.library) in place of a model's name.
  Registry& take_libraries();

  /// What a job may name, with the options of each; for read_job_file. Lives as long as the registry.
  const Declarations& declarations() const { return declarations_; }

  /// Throws JobError for a name that is not there, and for a file or library that holds no such model.
  std::unique_ptr<Model> make_model(const ModelConfig& model, const ModelContext& context) const;
  /// A model by its name alone. Throws JobError for a name that is not there, and what its factory throws.
  std::unique_ptr<Model> make_model(const std::string& name, const Options& options,
                                    const ModelContext& context) const;
  /// Opens a source by its name. Throws JobError for a name that is not there, and what its factory throws.
  Dataset make_source(const std::string& name, const Options& options) const;

 private:
  friend struct WatchedRegistry;  // Muster's own: notes and guards calls
  std::unique_ptr<Model> make_named(const ModelConfig& model, const ModelContext& context) const;

  Declarations declarations_;
  std::map<std::string, ModelFactory> models_;
  std::map<std::string, SourceFactory> sources_;
  ScriptFactory script_;
  std::shared_ptr<ModelLibraries> libraries_;  // shared by copies of the registry
  std::shared_ptr<CallNote> note_;             // may be null
  bool guarded_ = false;
};

/// Takes libraries, and with libtorch files. Models linear and empty, and with libtorch mlp, fashion_cnn,
/// resnet18 and gpt2; sources idx, synthetic and tokens.
Registry builtin_registry();

}  // namespace muster
