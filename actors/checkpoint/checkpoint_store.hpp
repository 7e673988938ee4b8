// Checkpoints in a folder. One at step t of job NAME is four files with the stem NAME-step-t-HASH (HASH: the
// first 12 digits of the weights' SHA-256):
//
//   .safetensors            the weights, for any reader of the format
//   .optimizer.safetensors  the optimizer's vectors, one tensor for each parameter
//   -<records>.place        where the job stands, with its ledger (snapshot.hpp)
//   -<records>.manifest.json  written last; names the others with size and SHA-256
//
// Behind a step an epoch may end, with the same weights: another place, and another manifest. Some may still
// go back to the older one.
//
// Each file is written beside its name, synced, then renamed. So a manifest is there only with all it names,
// a crash leaves the old checkpoints or the new one, and what is damaged later is noticed by its hash. There
// is no pointer to the latest one: a reader takes the highest that is whole.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint_list.hpp"
#include "actors/checkpoint/checkpoint_manifest.hpp"
#include "actors/checkpoint/snapshot.hpp"
#include "actors/messages/disk_retry.hpp"
#include "base/disk.hpp"
#include "muster/job.hpp"
#include "muster/model.hpp"

namespace muster {

/// What a checkpoint must be of to be gone on from.
struct CheckpointIdentity {
  std::string job;  ///< its name; not compared
  std::string job_hash;
  std::string fingerprint;  ///< of the data; empty: not compared
  std::uint64_t seed = 0;
  std::uint32_t shards = 1;
  Layout layout;
};

/// `fingerprint`: of the data; empty: not compared.
CheckpointIdentity checkpoint_identity(const Job& job, const std::string& job_hash, const Layout& layout,
                                       const std::string& fingerprint);

struct SavedCheckpoint {
  std::string path;      ///< of the weights
  std::string manifest;  ///< its name
  std::uint64_t bytes = 0;
  std::string weights_sha256;
};

/// One that was passed over, and why.
struct PassedOver {
  std::string manifest;
  std::string why;
  bool differs = false;  ///< another one of its step holds other weights
  bool is_void = false;  ///< there is a verdict on it
  Unread unread = Unread::no;
  std::optional<std::uint64_t> of_other_job = std::nullopt;  ///< it is of another job: its step
};

struct LoadedCheckpoint {
  Manifest manifest;
  std::string manifest_name;
  Snapshot snapshot;
};

struct FoundCheckpoint {
  std::optional<LoadedCheckpoint> newest;
  std::vector<PassedOver> passed_over;  ///< newer ones, and those of other jobs
};

/// What stays on the disk: the last so many, and all from this step on.
struct Keep {
  Keep(std::uint32_t keep, std::uint64_t from = std::numeric_limits<std::uint64_t>::max(),
       std::function<bool()> all = {})
      : last(keep), from_step(from), all_stay(std::move(all)) {}
  std::uint32_t last;
  std::uint64_t from_step;
  std::function<bool()> all_stay;  ///< asked before anything is removed: nothing is now; empty: no
};

/// One thread at a time; blocks.
class CheckpointStore {
 public:
  CheckpointStore(std::shared_ptr<Disk> disk, CheckpointIdentity identity);

  /// Writes the checkpoint, then removes what of this job is beyond `keep`. Throws VoidCheckpoint where there
  /// is a verdict on it, and DiskError; then
  /// the older ones are as they were, and nothing of this one takes room. Of an older step only the last one
  /// stays.
  SavedCheckpoint save(const Snapshot& snapshot, Keep keep);

  /// What save needs, about.
  std::uint64_t bytes_of(const Snapshot& snapshot) const;
  std::optional<std::uint64_t> room() { return disk_->room(); }
  std::string folder() const { return disk_->folder(); }

  /// The highest whole checkpoint of this job that `refuse`, if given, has no reason against. Replicas that
  /// keep their state without a coordinator compare it with nobody: where whole ones of one step hold
  /// different weights nobody can tell which are right, and all of them are set aside; not without `compare`.
  /// Throws DiskError if the folder cannot be listed.
  FoundCheckpoint newest(const std::function<std::string(const Snapshot&)>& refuse = nullptr,
                         bool compare = true);

  /// Of this job, those after this step, of this history and of those before it. What the disk refuses stays.
  void set_aside(std::uint64_t step, std::uint64_t history);
  /// The one with this manifest. If it stays: what the disk said.
  std::optional<std::string> set_aside(const std::string& manifest);

  /// The one of this manifest; nothing, and why, if it is not whole or not of this job.
  std::optional<LoadedCheckpoint> load(const std::string& manifest_name, std::string& why, Unread& unread);
  std::optional<LoadedCheckpoint> load(const std::string& manifest_name, std::string& why) {
    Unread unread;
    return load(manifest_name, why, unread);
  }
  /// Whether an older one of this job can be read whole: then a disk that refuses this one refuses it alone.
  bool reads_older(const std::string& manifest_name);

 private:
  CheckpointFile put(const std::string& name, Disk::Pieces pieces);
  SavedCheckpoint save_files(const Snapshot& snapshot, const std::string& stem, ReplicaPlace place);
  void take_back(const std::string& stem);
  void expect_there(const Manifest& manifest);
  Unread why_missing(const std::string& manifest_name);
  void prune(const std::string& manifest_name, std::uint64_t step, Keep keep);
  Disk::Bytes read_whole(const CheckpointFile& file);
  LoadedCheckpoint load_files(const Manifest& manifest);
  std::optional<LoadedCheckpoint> load_if_whole(const std::string& manifest_name, std::string& why);
  using ByStep = std::map<std::uint64_t, std::vector<ListedCheckpoint>, std::greater<>>;
  ByStep of_this_job(FoundCheckpoint& found);
  std::vector<std::string> differing(const std::vector<ListedCheckpoint>& of_one_step);

  std::shared_ptr<Disk> disk_;
  CheckpointIdentity identity_;
};

}  // namespace muster
