// Which options of a job exclude each other: one table, for the check of a job and for the reference page.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "muster/job.hpp"
#include "muster/mistake.hpp"

namespace muster {

/// A job with both is refused.
struct Exclusion {
  std::string key;      ///< the mistake is shown at its place
  std::string value;    ///< that is excluded: "one_shot"; empty: all but the default
  std::string other;    ///< a key; or a table, which stands for its key `name`: "train.compression"
  std::string allowed;  ///< what to do instead, and why not both
};

const std::vector<Exclusion>& exclusions();

/// The keys that decide whether a job has both.
std::vector<std::string> keys_of(const Exclusion& exclusion);

bool has_both(const Job& job, const Exclusion& exclusion);

/// For a job that has both.
Mistake mistake_of(const Exclusion& exclusion, const Job& job, const Places& places);

/// "`train.clip_norm`, `reduce.algorithm = "one_shot"`": what a key excludes, and what excludes it, in
/// Markdown. Empty: nothing.
std::string excluded_by(const std::string& key);

/// The table as a section of the reference page.
std::string exclusions_markdown();

}  // namespace muster
