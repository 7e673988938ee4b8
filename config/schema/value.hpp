// What a key may hold, and how its value is read, checked and written. Serves the keys of the job file and
// the options that models and sources declare alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/schema/toml_tree.hpp"
#include "muster/mistake.hpp"
#include "muster/options.hpp"

namespace muster {

enum class ValueType {
  boolean,
  integer,
  passes,  ///< an integer, or "forever", which is held as 0
  number,  ///< a finite double; an integer is taken too
  text,
  choice,    ///< one of `choices`
  path,      ///< a text that names a readable regular file, or is empty
  duration,  ///< "500ms"; held as an integer of milliseconds
  size,      ///< "64MiB"; held as an integer of bytes
  interval,  ///< "500 steps" or "1 epoch"; held as a text
  rate,      ///< "1 in 256 steps" or "off"; held as a text
  progress,  ///< "10 steps", "5s" or "off"; held as a text
  texts,     ///< a list of strings
  integers,  ///< a list of integers
};

/// The word of a duration that the run finds by itself.
inline constexpr const char* kAutomatic = "auto";

/// A value in the form in which it is checked. Durations and sizes are integers here.
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                           std::vector<std::string>>;

struct ValueSpec {
  ValueType type = ValueType::integer;
  std::optional<double>
      least;  ///< bound of integer, passes, number, duration (ms), size (bytes), each of integers
  std::optional<double> most;
  bool above_least = false;  ///< the bound itself is not allowed
  bool below_most = false;
  std::vector<std::string> choices;
  bool not_empty = false;  ///< of a text
  bool automatic = false;  ///< of a duration or size: "auto" is allowed too, and held as 0
};

/// The specification of a declared option.
ValueSpec value_spec(const OptionSpec& option);

/// What is wrong with one value.
struct Problem {
  std::string what;
  std::string found;
  std::string allowed;
  std::string nearest;
};

/// A problem with a value of this kind; what is allowed is taken from the specification.
Problem problem(const ValueSpec& spec, std::string what, std::string found, std::string nearest = {});

/// Reads a value from TOML and checks it; exactly one of value and problem is set. Reads the file system for
/// paths only.
struct ReadValue {
  std::optional<Value> value;
  std::optional<Problem> problem;
};
ReadValue read_value(const ValueSpec& spec, const TomlNode& node);

/// Checks a value that did not come from TOML. A value of another type is a problem too.
std::optional<Problem> check_value(const ValueSpec& spec, const Value& value);

/// What is allowed, in words: `an integer from 1 to 65536`, `"keep", "drop" or "pad"`.
std::string allowed_text(const ValueSpec& spec);

/// The value as TOML. Reads back as the same value.
std::string value_text(const ValueSpec& spec, const Value& value);

/// An option's value, and back. An option of type `number` given as an integer becomes a double.
Value to_value(const Option& option);
Option to_option(const ValueSpec& spec, const Value& value);

/// As TOML, by the option's own type.
std::string option_text(const Option& option);

}  // namespace muster
