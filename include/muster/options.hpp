// Options that a model or a data source declares for itself. The same declaration checks the job file, feeds
// `--help` and the reference page, and gives defaults.
//
//   #include "muster/options.hpp"
//
//   std::vector<muster::OptionSpec> my_options() {
//     using muster::OptionType;
//     return {{"hidden", OptionType::integer, "Width of the hidden layer.", std::int64_t{64}, 1, {}, {}},
//             {"file", OptionType::path, "The samples.", {}, {}, {}, {}}};  // must be given
//   }
//   std::int64_t hidden(const muster::Options& options) {
//     return muster::option<std::int64_t>(options, "hidden");
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster {

/// The value of one option, of the type that was declared.
using Option = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>>;
/// Checked values by key, defaults filled in. Ordered, so that what is printed or hashed does not depend on
/// hashing.
using Options = std::map<std::string, Option>;

/// Type of an option's value.
enum class OptionType { boolean, integer, number, text, path, integers };

/// One declared option. `path` is a text that must name a readable file.
struct OptionSpec {
  std::string key;                        ///< its name in the table of the model or the source
  OptionType type = OptionType::integer;  ///< of its value
  std::string help;                       ///< one sentence: what it does, its unit
  std::optional<Option> default_value;    ///< none: the key is required
  std::optional<double> minimum;          ///< inclusive, for integer, number, and each of integers
  std::optional<double> maximum;          ///< inclusive
  std::vector<std::string> allowed;       ///< for text: the allowed values, if not empty
};

/// What a job file may name: each model and source with its own options. Filled from a registry; config knows
/// neither.
struct Declarations {
  /// Options by the name of the model or source that declares them.
  using Named = std::map<std::string, std::vector<OptionSpec>>;

  Named models;   ///< for model.name
  Named sources;  ///< for data.source
  /// Options beside model.file; none: this build cannot read such files.
  std::optional<std::vector<OptionSpec>> script;
  /// The models of the library at a path. Throws std::exception that says what is wrong with it; null: no
  /// libraries here.
  std::function<Named(const std::string& path)> open_library;
  /// SHA-256 of a file. Throws std::exception; null: files are not told apart.
  std::function<std::string(const std::string& path)> hash_file;
};

/// The value of a declared option. Throws std::bad_variant_access or std::out_of_range on a wrong type or
/// key: a bug.
template <class T>
const T& option(const Options& options, const std::string& key) {
  return std::get<T>(options.at(key));
}

}  // namespace muster
