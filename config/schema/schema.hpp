// The one table of the keys of a job file. Reading, checking, writing and the reference page all walk it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/schema/value.hpp"
#include "muster/job.hpp"

namespace muster {

/// Whether a key fixes the mathematics of a job, and so is part of its hash (job_hash.hpp).
enum class InHash { undecided, yes, no };

/// One key: what it may hold, and where its value lives in a Job.
struct Key {
  std::string path;  ///< "train.optimizer.momentum"
  ValueSpec value;
  std::string help;          ///< one or two sentences: what it does, and the trade-off
  std::string default_text;  ///< in words, where the default is not a plain value; else empty
  std::string
      selector;  ///< the key that decides whether this one applies: "train.optimizer.name"; may be empty
  std::vector<std::string> selected_by;  ///< the selector's values with which it applies
  bool short_form = false;               ///< its value may be written in place of its whole table
  bool required = false;
  InHash in_hash = InHash::undecided;  ///< decided for every key of the table

  std::function<std::optional<Value>(const Job&)> get;  ///< nothing: not given
  std::function<void(Job&, const Value&)> set;          ///< the value must have passed check_value
};

/// All keys but the declared options of model and source; those of one table stand together, a table before
/// its inner ones. Immutable; any thread.
const std::vector<Key>& job_keys();

/// Null where there is no such key.
const Key* find_key(const std::string& path);

/// The tables of the file: "model", "train.optimizer", ...
const std::vector<std::string>& job_tables();

/// Whether the key applies to the job: its selector, if any, has one of the values of selected_by.
bool applies(const Key& key, const Job& job);

/// The default as TOML, or in words.
std::string default_text(const Key& key);

/// The reference page of the job file in Markdown: every key with type, range, default and meaning; then the
/// options of each declared model and source.
std::string job_reference_markdown(const Declarations& declarations = {});

/// The same as plain text: what `muster job` prints.
std::string job_reference_text(const Declarations& declarations = {});

}  // namespace muster
