#include "muster/job_file.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "config/model_choice.hpp"
#include "config/option_check.hpp"
#include "config/schema/constraints.hpp"
#include "config/schema/schema.hpp"
#include "config/schema/toml_tree.hpp"
#include "config/values/file_check.hpp"

namespace muster {
namespace {

// What says which options are declared.
constexpr std::string_view kNames[] = {"model.name", "model.file", "model.library", "model.entry",
                                       "data.source"};

// Walks the tree of a file: known keys into the job, the rest into mistakes.
class Reader {
 public:
  Reader(const Declarations& declarations, ParsedJob& result)
      : declarations_(declarations), result_(result) {}

  Job read(const TomlNode& root) {
    result_.places[""] = root.place;
    // The names first: they decide which options are known beside them.
    for (const std::string_view view : kNames) {
      const std::string name(view);
      if (const TomlEntry* entry = find_path(root, name)) {
        read_key(*find_key(name), *entry, name);
      }
    }
    read_table("", root);
    for (const char* table : {"model", "data"}) {
      check_name(table, job_, result_.places, declarations_, broken_, result_.mistakes);
      check_missing_options(table, job_, result_.places, declarations_, broken_, result_.mistakes);
    }
    check_constraints(job_, result_.places, broken_, result_.mistakes);
    return job_;
  }

 private:
  static const TomlEntry* find_path(const TomlNode& root, const std::string& path) {
    const TomlTable* table = root.table();
    const TomlEntry* outer = table ? find_entry(*table, table_of(path)) : nullptr;
    const TomlTable* inner = outer ? outer->node.table() : nullptr;
    return inner ? find_entry(*inner, leaf_of(path)) : nullptr;
  }

  void read_table(const std::string& path, const TomlNode& node) {
    for (const TomlEntry& entry : *node.table()) {
      read_entry(path, entry);
    }
  }

  void read_entry(const std::string& table, const TomlEntry& entry) {
    const std::string path = join_path(table, key_text(entry.key));
    if (std::find(std::begin(kNames), std::end(kNames), path) != std::end(kNames)) {
      return;  // read before
    }
    if (const Key* key = find_key(path)) {
      read_key(*key, entry, path);
    } else if (is_table(path)) {
      read_inner(path, entry);
    } else if (table == "model" || table == "data") {
      read_declared(table, path, entry);
    } else {
      unknown_key(path, entry, known_paths(table));
    }
  }

  static bool is_table(const std::string& path) {
    const auto& tables = job_tables();
    return std::find(tables.begin(), tables.end(), path) != tables.end();
  }

  void read_inner(const std::string& path, const TomlEntry& entry) {
    result_.places[path] = entry.place;
    if (entry.node.table()) {
      read_table(path, entry.node);
      return;
    }
    for (const Key& key : job_keys()) {
      if (key.short_form && table_of(key.path) == path) {
        read_key(key, entry, path);
        return;
      }
    }
    add(entry.node, path, {"wrong type", type_words(entry.node), "a table", ""});
  }

  void read_key(const Key& key, const TomlEntry& entry, const std::string& path) {
    remember_places(path, entry.node);
    const ReadValue read = read_value(key.value, entry.node);
    if (!read.value) {
      Problem problem = *read.problem;
      if (path != key.path) {
        problem.allowed += ", or a table with schedule";  // the short form
        broken_.insert(key.path);
      }
      add(entry.node, path, problem);
      return;
    }
    key.set(job_, *read.value);
  }

  void read_declared(const std::string& table, const std::string& path, const TomlEntry& entry) {
    const auto options = declared_options(table, job_, declarations_);
    if (!options) {
      return;  // the name is unknown, and reported: nobody can say what belongs to it
    }
    for (const OptionSpec& option : *options) {
      if (option.key != entry.key) {
        continue;
      }
      remember_places(path, entry.node);
      const ValueSpec spec = value_spec(option);
      const ReadValue read = read_value(spec, entry.node);
      if (read.value) {
        (table == "model" ? job_.model.options : job_.data.options)[option.key] =
            to_option(spec, *read.value);
      } else {
        add(entry.node, path, *read.problem);
      }
      return;
    }
    unknown_key(path, entry, known_paths(table));
  }

  // Places of a value, and of each item of a list.
  void remember_places(const std::string& path, const TomlNode& node) {
    result_.places[path] = node.place;
    if (const auto* list = std::get_if<TomlList>(&node.value)) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        result_.places[path + '[' + std::to_string(i) + ']'] = (*list)[i].place;
      }
    }
  }

  // Every path that may stand in the file, those of the given table first.
  std::vector<std::string> known_paths(const std::string& first_table) const {
    std::vector<std::string> paths;
    for (const bool first : {true, false}) {
      for (const Key& key : job_keys()) {
        if ((table_of(key.path) == first_table) == first) {
          paths.push_back(key.path);
        }
      }
      for (const char* table : {"model", "data"}) {
        const auto options = declared_options(table, job_, declarations_);
        for (std::size_t i = 0; options && (table == first_table) == first && i < options->size(); ++i) {
          paths.push_back(join_path(table, key_text((*options)[i].key)));
        }
      }
    }
    paths.insert(paths.end(), job_tables().begin(), job_tables().end());
    return paths;
  }

  void unknown_key(const std::string& path, const TomlEntry& entry, std::vector<std::string> known) {
    const bool is_table_here = entry.node.table() != nullptr;
    if (is_table_here) {
      known = job_tables();
    }
    const std::string near = nearest_path(path, known);
    if (!near.empty()) {
      broken_.insert(near);
    }
    const std::string what = is_table_here ? "unknown table" : "unknown key";
    result_.mistakes.push_back(
        mistake_in(entry.place, path, what, "", near.empty() ? keys_of(table_of(path)) : "", near));
  }

  // What may stand in a table, for a key that is near to nothing.
  std::string keys_of(const std::string& table) const {
    std::vector<std::string> leaves;
    for (const std::string& path : known_paths(table)) {
      if (table_of(path) == table) {
        leaves.push_back(leaf_of(path));
      }
    }
    return any_of_text(leaves);
  }

  void add(const TomlNode& node, const std::string& path, const Problem& problem) {
    broken_.insert(path);
    result_.mistakes.push_back(
        mistake_in(node.place, path, problem.what, problem.found, problem.allowed, problem.nearest));
  }

  const Declarations& declarations_;
  ParsedJob& result_;
  Job job_;
  BrokenKeys broken_;
};

// The key for which the value of this path is short, if it may be.
std::string short_for(const std::string& path) {
  for (const Key& key : job_keys()) {
    if (key.short_form && table_of(key.path) == path) return key.path.substr(path.size() + 1);
  }
  return {};
}

void apply_sets(const std::vector<std::string>& sets, TomlNode& root, std::vector<Mistake>& mistakes) {
  for (const std::string& set : sets) {
    const ParsedSet parsed = parse_set(set);
    if (parsed.mistake) {
      mistakes.push_back(*parsed.mistake);
    } else {
      apply_set(root, parsed, short_for);
    }
  }
}

}  // namespace

ParsedJob read_job_text(const std::string& text, const std::string& file_name,
                        const std::vector<std::string>& sets, const Declarations& declarations) {
  ParsedJob result;
  ParsedToml toml = parse_toml(text, file_name);
  apply_sets(sets, toml.root, result.mistakes);
  if (toml.mistake) {
    result.places[""] = toml.root.place;
    result.mistakes.push_back(*toml.mistake);
    return result;
  }
  Job job = Reader(declarations, result).read(toml.root);
  if (result.mistakes.empty()) {
    result.job = with_defaults(std::move(job), declarations);
  }
  return result;
}

ParsedJob read_job_file(const std::string& path, const std::vector<std::string>& sets,
                        const Declarations& declarations) {
  ParsedJob result;
  const FileProblem problem = check_file(path);
  if (!problem.why.empty()) {
    result.mistakes.push_back(
        mistake_in({path, 0, 0, {}}, "", problem.why, "", "a job file", problem.nearest));
    return result;
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(kTomlBytesMax + 1, '\0');  // one byte more than is taken, to see that there is more
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || !file.is_open()) {
    result.mistakes.push_back(mistake_in({path, 0, 0, {}}, "", "cannot be read", "", "a job file"));
    return result;
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return read_job_text(text, path, sets, declarations);
}

std::vector<Mistake> check_job(const Job& job, const Places& places, const Declarations& declarations) {
  std::vector<Mistake> mistakes;
  BrokenKeys broken;
  for (const Key& key : job_keys()) {
    const std::optional<Value> value = key.get(job);
    const bool is_name = key.required;  // names are checked against what is declared
    if (!value || is_name || !applies(key, job)) {
      continue;
    }
    if (const std::optional<Problem> problem = check_value(key.value, *value)) {
      broken.insert(key.path);
      mistakes.push_back(
          mistake_at(places, key.path, problem->what, problem->found, problem->allowed, problem->nearest));
    }
  }
  for (const char* table : {"model", "data"}) {
    check_name(table, job, places, declarations, broken, mistakes);
    check_options(table, job, places, declarations, broken, mistakes);
    check_missing_options(table, job, places, declarations, broken, mistakes);
  }
  check_constraints(job, places, broken, mistakes);
  return mistakes;
}

Job with_defaults(Job job, const Declarations& declarations) {
  for (const char* table : {"model", "data"}) {
    const auto options = declared_options(table, job, declarations);
    Options& values = std::string(table) == "model" ? job.model.options : job.data.options;
    for (std::size_t i = 0; options && i < options->size(); ++i) {
      const OptionSpec& option = (*options)[i];
      if (option.default_value) {
        values.emplace(option.key, to_option(value_spec(option), to_value(*option.default_value)));
      }
    }
  }
  if (!job.train.epochs && !job.train.steps) {
    job.train.epochs = 1;
  }
  if (job.model.content.empty()) {
    job.model.content = chosen_content(job.model, declarations);
  }
  return job;
}

}  // namespace muster
