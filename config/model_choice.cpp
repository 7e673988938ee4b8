#include "config/model_choice.hpp"

#include <algorithm>
#include <exception>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "config/schema/exclusions.hpp"
#include "config/values/file_check.hpp"

namespace muster {
namespace {

struct Chosen {
  std::string key;
  std::string value;
};

std::vector<Chosen> choices(const ModelConfig& model) {
  std::vector<Chosen> given;
  if (!model.name.empty()) given.push_back({"model.name", model.name});
  if (model.file) given.push_back({"model.file", *model.file});
  if (model.library) given.push_back({"model.library", *model.library});
  return given;
}

std::vector<std::string> names_of(const Declarations::Named& models) {
  std::vector<std::string> names;
  for (const auto& [name, options] : models) names.push_back(name);
  return names;
}

// What may stand in place of a name here.
std::string alternatives(const Declarations& declarations) {
  std::string text;
  if (declarations.script) text += "; or file = \"model.pt\" in its place";
  if (declarations.open_library) text += "; or library = \"libmodel.so\" in its place";
  return text;
}

/// One look at the choice of a job: the first mistake that is found marks its key as broken.
class Choice {
 public:
  Choice(const Job& job, const Places& places, const Declarations& declarations, BrokenKeys& broken,
         std::vector<Mistake>& mistakes)
      : job_(job),
        model_(job.model),
        places_(places),
        declarations_(declarations),
        broken_(broken),
        mistakes_(mistakes) {}

  void check() {
    for (const char* key : {"model.name", "model.file", "model.library", "model.entry"})
      if (is_broken(broken_, key)) return;
    const auto given = choices(model_);
    if (given.size() > 1) return refuse_second(given);
    if (given.empty() || given[0].key == "model.name") return check_name();
    if (!check_path(given[0])) return;
    if (model_.library) check_library();
    check_entry_alone();
  }

 private:
  void add(const std::string& key, const std::string& what, const std::string& found,
           const std::string& allowed, const std::string& near = {}) {
    broken_.insert(key);
    mistakes_.push_back(mistake_at(places_, key, what, found, allowed, near));
  }

  void refuse_second(const std::vector<Chosen>& given) {
    const auto both =
        std::ranges::find_if(exclusions(), [&](const Exclusion& each) { return has_both(job_, each); });
    mistakes_.push_back(mistake_of(*both, job_, places_));  // models are the first of the table
    for (const Chosen& one : given) broken_.insert(one.key);
  }

  void check_name() {
    check_entry_alone();
    if (chosen_options(model_, declarations_)) return;
    const std::vector<std::string> names = names_of(declarations_.models);
    const std::string near = nearest(model_.name, names);
    const std::string allowed = names.empty() ? "none, no model is declared" : any_of_text(quoted_all(names));
    const bool missing = model_.name.empty() && !places_.contains("model.name");
    add("model.name", missing ? "missing" : "unknown model", missing ? "" : shortened(in_quotes(model_.name)),
        allowed + (missing ? alternatives(declarations_) : ""), near.empty() ? "" : in_quotes(near));
  }

  // Whether there is such a file.
  bool check_path(const Chosen& chosen) {
    const bool library = chosen.key == "model.library";
    const char* allowed = library ? "a shared library with a model (muster/model_library.hpp)"
                                  : "a TorchScript module, as torch.jit.save writes it";
    const std::string found = shortened(in_quotes(chosen.value));
    if (library ? !declarations_.open_library : !declarations_.script) {
      add(chosen.key,
          library ? "this program loads no libraries" : "this build has no libtorch, which reads such files",
          found, "model.name: " + any_of_text(quoted_all(names_of(declarations_.models))));
      return false;
    }
    const FileProblem problem = check_file(chosen.value);
    if (problem.why.empty()) return true;
    add(chosen.key, problem.why, found, allowed, problem.nearest.empty() ? "" : in_quotes(problem.nearest));
    return false;
  }

  void check_library() {
    std::vector<std::string> names;
    try {
      names = names_of(declarations_.open_library(*model_.library));
    } catch (const std::exception& error) {
      return add("model.library", printable(error.what()), shortened(in_quotes(*model_.library)),
                 "a shared library with a model (muster/model_library.hpp)");
    }
    if (chosen_options(model_, declarations_)) return;
    const std::string all = any_of_text(quoted_all(names));
    if (!model_.entry) return add("model.entry", "missing, the library has several models", "", all);
    const std::string near = nearest(*model_.entry, names);
    add("model.entry", "not in the library", shortened(in_quotes(*model_.entry)), all,
        near.empty() ? "" : in_quotes(near));
  }

  void check_entry_alone() {
    if (!model_.entry || model_.library) return;
    add("model.entry", "belongs to model.library", shortened(in_quotes(*model_.entry)),
        "model.library beside it, or no model.entry");
  }

  const Job& job_;
  const ModelConfig& model_;
  const Places& places_;
  const Declarations& declarations_;
  BrokenKeys& broken_;
  std::vector<Mistake>& mistakes_;
};

std::optional<std::vector<OptionSpec>> named(const Declarations::Named& models, const std::string& name) {
  const auto found = models.find(name);
  return found == models.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::vector<OptionSpec>> library_options(const ModelConfig& model,
                                                       const Declarations& declarations) {
  if (!declarations.open_library) return std::nullopt;
  try {
    const Declarations::Named models = declarations.open_library(*model.library);
    if (model.entry) return named(models, *model.entry);
    return models.size() == 1 ? std::optional(models.begin()->second) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;  // check_model_choice says why
  }
}

}  // namespace

std::optional<std::vector<OptionSpec>> chosen_options(const ModelConfig& model,
                                                      const Declarations& declarations) {
  if (choices(model).size() > 1) return std::nullopt;
  if (model.file) return declarations.script;
  if (model.library) return library_options(model, declarations);
  return named(declarations.models, model.name);
}

void check_model_choice(const Job& job, const Places& places, const Declarations& declarations,
                        BrokenKeys& broken, std::vector<Mistake>& mistakes) {
  Choice(job, places, declarations, broken, mistakes).check();
}

std::string chosen_content(const ModelConfig& model, const Declarations& declarations) {
  if (model.path().empty() || !declarations.hash_file) return {};
  try {
    return declarations.hash_file(model.path());
  } catch (const std::exception&) {
    return {};  // who makes the model says why it cannot be read
  }
}

}  // namespace muster
