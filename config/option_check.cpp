#include "muster/config/option_check.hpp"

#include <algorithm>

#include "muster/config/nearest.hpp"
#include "muster/config/schema.hpp"
#include "muster/config/text.hpp"
#include "muster/config/value.hpp"

namespace muster {
namespace {

struct Name {
  std::string key;
  std::string kind;  // for messages
  std::string value;
  std::vector<std::string> declared;
};

Name name_of(const std::string& table, const Job& job, const Declarations& declarations) {
  const bool model = table == "model";
  Name name{model ? "model.name" : "data.source",
            model ? "model" : "source",
            model ? job.model.name : job.data.source,
            {}};
  for (const auto& [declared, options] : model ? declarations.models : declarations.sources) {
    name.declared.push_back(declared);
  }
  return name;
}

}  // namespace

void check_name(const std::string& table, const Job& job, const Places& places,
                const Declarations& declarations, BrokenKeys& broken, std::vector<Mistake>& mistakes) {
  const Name name = name_of(table, job, declarations);
  if (is_broken(broken, name.key) || declared_options(table, job, declarations)) {
    return;
  }
  const std::string near = nearest(name.value, name.declared);
  const std::string allowed = name.declared.empty() ? "none, no " + name.kind + " is declared"
                                                    : any_of_text(quoted_all(name.declared));
  const bool missing = name.value.empty() && !places.contains(name.key);
  broken.insert(name.key);
  mistakes.push_back(mistake_at(places, name.key, missing ? "missing" : "unknown " + name.kind,
                                missing ? "" : shortened(quoted(name.value)), allowed,
                                near.empty() ? "" : quoted(near)));
}

void check_options(const std::string& table, const Job& job, const Places& places,
                   const Declarations& declarations, BrokenKeys& broken, std::vector<Mistake>& mistakes) {
  const std::vector<OptionSpec>* declared = declared_options(table, job, declarations);
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
  const std::vector<OptionSpec>* declared = declared_options(table, job, declarations);
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

}  // namespace muster
