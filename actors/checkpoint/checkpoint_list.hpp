// The checkpoints in a folder, by their manifests: which there are, and which are set aside.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint_manifest.hpp"
#include "base/disk.hpp"

namespace muster {

/// A larger file is none.
inline constexpr std::uint64_t kManifestBytesMax = std::uint64_t{64} << 20;

/// One whose manifest can be read; whether its files are whole was not looked at.
struct ListedCheckpoint {
  std::string manifest;
  std::uint64_t step = 0;
  std::uint64_t records = 0;
  std::string weights;  ///< name of the file
  std::string weights_sha256;
  std::uint64_t history = 0;
};

ListedCheckpoint listed(const std::string& name, const Manifest& manifest);

/// Whether a disk that says this may say something else another time: all but that there is no such file.
bool may_pass(const DiskError& error);

/// Nothing, and why, if it is none. Blocks. Throws DiskError.
std::optional<Manifest> manifest_in(Disk& disk, const std::string& name, std::string& why);
/// The same; what the disk says is one reason more.
std::optional<Manifest> read_manifest(Disk& disk, const std::string& name, std::string& why);

// Those that follow block. They throw DiskError, also where the folder can be listed, and the disk refuses to
// read any manifest that is there.

/// The checkpoints of the job with this hash, ascending by step; none with a verdict on it.
std::vector<ListedCheckpoint> list_checkpoints(Disk& disk, const std::string& job_hash);

/// What the disk says of one of a run of this name, of a step between these two, that cannot be read now: it
/// may be better than one that can.
std::optional<std::string> refused_between(Disk& disk, const std::string& job,
                                           std::optional<std::uint64_t> above, std::uint64_t before,
                                           const std::function<bool(const std::string&)>& is_passed_over);

inline constexpr const char* kSetAside = ".suspect";
/// For a run of this name that begins, or resumes the checkpoint with this manifest: a history that nothing
/// in this folder is of.
std::uint64_t next_history(Disk& disk, const std::string& job, const std::string& job_hash,
                           const std::string& resumed);
/// Whether there is one of this job, set aside or not.
bool holds_any_checkpoint(Disk& disk, const std::string& job_hash);

/// Those of steps after `step`, of this history and of those before it, get another name (kSetAside behind
/// it), which nobody goes on from; a run that comes to that step again removes them.
void set_checkpoints_aside(Disk& disk, const std::string& job_hash, std::uint64_t step,
                           std::uint64_t history);

}  // namespace muster
