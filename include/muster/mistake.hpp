// A mistake in a job: where it stands, what was found, what is allowed, and what may have been meant.
// Mistakes are values: all of them are collected, and shown together.
//
//   #include "muster/mistake.hpp"
//
//   int refuse(const std::vector<muster::Mistake>& mistakes) {
//     for (const muster::Mistake& mistake : mistakes) {
//       // job.toml:12:3: train.bathc: unknown key; did you mean train.batch?
//       std::fprintf(stderr, "%s\n", muster::render(mistake).c_str());
//     }
//     return mistakes.empty() ? 0 : 2;
//   }
#pragma once

#include <map>
#include <string>
#include <vector>

namespace muster {

/// Where a key or a value was written. Lines and columns count from 1; 0: unknown. All empty: the job was
/// built in C++.
struct Place {
  std::string file;  ///< path of the job file, as given
  int line = 0;      ///< from 1; 0: unknown
  int column = 0;    ///< from 1; 0: unknown
  std::string set;   ///< the override that wrote it, as given: "train.batch=3"

  bool operator==(const Place&) const = default;
};

/// Place of each key and table by its path ("train", "train.batch", "cluster.devices[1]"); "" is the file
/// itself.
using Places = std::map<std::string, Place>;

/// One thing that is wrong with a job. A value; shown by `render`.
struct Mistake {
  std::string file;     ///< path of the job file, as given; empty for an override
  int line = 0;         ///< from 1; 0: none (a file that is not there)
  int column = 0;       ///< from 1
  std::string set;      ///< the override in which it stands, if it does: "train.bathc=3"
  std::string key;      ///< full path: "train.bathc"
  std::string what;     ///< "unknown key", "out of range"
  std::string found;    ///< as written: 0, "adma" (a string); may be empty
  std::string allowed;  ///< in words; may be empty
  std::string nearest;  ///< the key or value that may have been meant; may be empty

  bool operator==(const Mistake&) const = default;
};

/// A mistake at the place of `key`, or of the nearest table around it that has a place (a missing key has
/// none of its own).
Mistake mistake_at(const Places& places, const std::string& key, const std::string& what,
                   const std::string& found = {}, const std::string& allowed = {},
                   const std::string& nearest = {});

/// A mistake at a given place.
Mistake mistake_in(const Place& place, const std::string& key, const std::string& what,
                   const std::string& found = {}, const std::string& allowed = {},
                   const std::string& nearest = {});

/// One line without line break: "job.toml:12:3: train.bathc: unknown key; did you mean train.batch?". The
/// place of an override is "--set train.bathc=3"; without place the line starts with the key.
std::string render(const Mistake& mistake);

/// All mistakes, one per line, each line ended: those of files by file, line and column, then those of
/// overrides as given.
std::string render(std::vector<Mistake> mistakes);

}  // namespace muster
