#include "config/option_check.hpp"

#include <algorithm>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "config/model_choice.hpp"
#include "config/schema/schema.hpp"
#include "config/schema/value.hpp"

namespace muster {
namespace {

void check_source(const Job& job, const Places& places, const Declarations& declarations, BrokenKeys& broken,
                  std::vector<Mistake>& mistakes) {
  const std::string key = "data.source";
  if (is_broken(broken, key) || declarations.sources.contains(job.data.source)) {
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, options] : declarations.sources) {
    names.push_back(name);
  }
  const std::string near = nearest(job.data.source, names);
  const std::string allowed = names.empty() ? "none, no source is declared" : any_of_text(quoted_all(names));
  const bool missing = job.data.source.empty() && !places.contains(key);
  broken.insert(key);
  mistakes.push_back(mistake_at(places, key, missing ? "missing" : "unknown source",
                                missing ? "" : shortened(in_quotes(job.data.source)), allowed,
                                near.empty() ? "" : in_quotes(near)));
}

}  // namespace

void check_name(const std::string& table, const Job& job, const Places& places,
                const Declarations& declarations, BrokenKeys& broken, std::vector<Mistake>& mistakes) {
  if (table == "model") {
    check_model_choice(job, places, declarations, broken, mistakes);
  } else {
    check_source(job, places, declarations, broken, mistakes);
  }
}

void check_options(const std::string& table, const Job& job, const Places& places,
                   const Declarations& declarations, BrokenKeys& broken, std::vector<Mistake>& mistakes) {
  const auto declared = declared_options(table, job, declarations);
  if (!declared) {
    return;
  }
  std::vector<std::string> names;
  for (const OptionSpec& option : *declared) {
    names.push_back(option.key);
  }
  for (const auto& [key, value] : table == "model" ? job.model.options : job.data.options) {
    const std::string path = join_path(table, key_text(key));
    const auto option = std::find(names.begin(), names.end(), key);
    if (option == names.end()) {
      const std::string near = nearest(key, names);
      broken.insert(join_path(table, key_text(near)));
      mistakes.push_back(mistake_at(places, path, "unknown key", "", near.empty() ? any_of_text(names) : "",
                                    near.empty() ? "" : join_path(table, key_text(near))));
      continue;
    }
    const ValueSpec spec = value_spec((*declared)[static_cast<std::size_t>(option - names.begin())]);
    if (const auto problem = check_value(spec, to_value(to_option(spec, to_value(value))))) {
      broken.insert(path);
      mistakes.push_back(
          mistake_at(places, path, problem->what, problem->found, problem->allowed, problem->nearest));
    }
  }
}

void check_missing_options(const std::string& table, const Job& job, const Places& places,
                           const Declarations& declarations, const BrokenKeys& broken,
                           std::vector<Mistake>& mistakes) {
  const auto declared = declared_options(table, job, declarations);
  if (!declared || is_broken(broken, table)) {
    return;
  }
  const Options& given = table == "model" ? job.model.options : job.data.options;
  for (const OptionSpec& option : *declared) {
    const std::string path = join_path(table, key_text(option.key));
    if (option.default_value || given.contains(option.key) || is_broken(broken, path)) {
      continue;
    }
    mistakes.push_back(mistake_at(places, path, "missing", "", allowed_text(value_spec(option))));
  }
}

std::optional<std::vector<OptionSpec>> declared_options(const std::string& table, const Job& job,
                                                        const Declarations& declarations) {
  if (table == "model") return chosen_options(job.model, declarations);
  const auto found = declarations.sources.find(job.data.source);
  return found == declarations.sources.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace muster
