// The manifest of a checkpoint: a small JSON file that comes last and names the others with size and SHA-256.
// Pure values; what they mean for a folder is decided in checkpoint_store.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/rules/steps/ledger.hpp"

namespace muster {

struct CheckpointFile {
  std::string name;  ///< in the folder of the manifest
  std::uint64_t bytes = 0;
  std::string sha256;

  bool operator==(const CheckpointFile&) const = default;
};

struct Manifest {
  static constexpr int kVersion = 1;

  std::string job;          ///< its name
  std::string job_hash;     ///< of what fixes its mathematics
  std::string fingerprint;  ///< of the data
  std::uint64_t seed = 0;
  std::uint32_t shards = 0;
  std::uint64_t epoch = 0;    ///< that the next step belongs to, or the last one
  std::uint64_t step = 0;     ///< the last one in it
  std::uint64_t records = 0;  ///< rounds committed; orders checkpoints of one step
  std::uint64_t history = 0;  ///< of the run that wrote it (checkpoint_verdicts.hpp)
  std::string weights_sha256;
  std::vector<LedgerRow> ledger;  ///< of the finished epochs
  CheckpointFile weights;
  CheckpointFile optimizer;
  CheckpointFile place;
};

std::string to_json(const Manifest& manifest);

/// Nothing, and why, if the text is not a manifest of this version.
std::optional<Manifest> parse_manifest(std::string_view text, std::string& why);

/// A file of a checkpoint, by its name: "<job>-step-<step>-<12 hexadecimal digits>", from the second attempt
/// of a run on "_<attempt>", and what follows. So nobody overwrites what another attempt has written.
struct CheckpointName {
  std::string stem;
  std::uint64_t step = 0;
  std::string rest;  ///< "-9.manifest.json", ".safetensors", ".safetensors.tmp.77", ...

  bool is_manifest() const { return rest.ends_with(".manifest.json"); }
};

/// A job's name as a part of a file's: no folder, and nothing that hides.
std::string file_name_of(std::string job);

/// `attempt`: of the run (checkpoint_verdicts.hpp).
std::string checkpoint_stem(const std::string& job, std::uint64_t step, const std::string& weights_sha256,
                            std::uint64_t attempt);

/// Nothing if the name is not that of a checkpoint's file. Takes any job if `job` is empty.
std::optional<CheckpointName> parse_checkpoint_name(const std::string& name, const std::string& job);

}  // namespace muster
