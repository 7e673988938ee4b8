// Writes a replica's snapshots on a thread of its own, "muster-disk": no step waits for the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/data_plane/executor.hpp"
#include "actors/messages/messages.hpp"
#include "muster/job.hpp"

namespace muster {

class Checkpointer {
 public:
  /// `spare`: where the last one goes if `store` takes none; on a thread of its own, for that of the disk may
  /// hang. `gone_back_to`: replicas of the job may have to
  /// go back to the last one that the coordinator knows of.
  Checkpointer(std::shared_ptr<Executor> disk_thread, std::function<std::shared_ptr<Executor>()> spare_thread,
               std::shared_ptr<CheckpointStore> store, std::shared_ptr<CheckpointStore> spare,
               CheckpointConfig config, bool gone_back_to)
      : disk_thread_(std::move(disk_thread)),
        make_spare_thread_(std::move(spare_thread)),
        store_(std::move(store)),
        spare_(std::move(spare)),
        config_(std::move(config)),
        known_(std::make_shared<std::atomic<std::uint64_t>>(gone_back_to ? 0 : kAllKnown)) {}

  /// The coordinator knows of the one of this step. It and all later ones stay, however many that are.
  void known(std::uint64_t step) {
    if (*known_ != kAllKnown) *known_ = step;
  }

  /// The view ends, and members may have to go back to any that is there: none is removed until `release`.
  void hold() { *held_ = ++holds_; }
  /// The next one has begun. What was to be written before that removes none either.
  void release();

  const Interval& every() const { return config_.every; }

  /// Writes after what is being written; `done` is called on the disk's thread with the answer, from which
  /// `error` is not empty if nothing was written. Does not block.
  void write(std::shared_ptr<const Snapshot> snapshot, Written written, std::function<void(Written)> done);

  /// The same into the spare folder, for one that was refused, or not answered: `refused.kept` is what is
  /// written. `done` is called on another thread. The answer says the folder, and as its advice what the
  /// other one said.
  void write_elsewhere(Written refused, std::function<void(Written)> done);

  /// After what is being written: checkpoints after this step, of this history or one before it, count no
  /// more.
  void set_aside(std::uint64_t step, std::uint64_t history);

  /// This replica is told to end, and its results of this step and later ones may be wrong: of what is being
  /// written, and waits to be, no such checkpoint stays.
  void withdraw(std::uint64_t from_step) { *suspect_from_ = from_step; }

  /// Reads the one with this manifest after what is being written; `done` is called on the disk's thread,
  /// with nothing and the reason if it is not whole or not of this job, or could not be read. One that the
  /// disk refuses in the `last_try`, and not an older one, counts as damaged.
  void read(const std::string& manifest, bool last_try,
            std::function<void(std::shared_ptr<const Snapshot>, std::string why, Unread)> done);

 private:
  std::shared_ptr<Executor> disk_thread_;
  std::function<std::shared_ptr<Executor>()> make_spare_thread_;
  std::shared_ptr<Executor> spare_thread_;  // null until it is needed
  std::shared_ptr<CheckpointStore> store_, spare_;
  CheckpointConfig config_;
  static constexpr std::uint64_t kAllKnown = std::numeric_limits<std::uint64_t>::max();
  // Read by the disk's thread.
  std::shared_ptr<std::atomic<std::uint64_t>> known_;
  std::uint64_t holds_ = 0;
  std::shared_ptr<std::atomic<std::uint64_t>> held_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<std::atomic<std::uint64_t>> suspect_from_ =
      std::make_shared<std::atomic<std::uint64_t>>(kAllKnown);
};

/// Of a job that asks for checkpoints; null for one that does not. Every replica has one, for which of them
/// writes may change. The functions are those of NodeSeams.
std::shared_ptr<Checkpointer> make_checkpointer(
    const Job& job, const std::string& job_hash, const Layout& layout, const std::string& fingerprint,
    const std::function<std::shared_ptr<Disk>(const std::string&)>& open_disk,
    const std::function<std::shared_ptr<Executor>(const std::string&, const std::string&)>& make_executor);

}  // namespace muster
