// The messages of a checkpoint; within one node, but for the last one. Part of messages.hpp, which is the one
// to include and to read.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "actors/messages/disk_retry.hpp"
#include "actors/messages/message.hpp"
#include "actors/messages/view.hpp"

namespace muster {

struct Snapshot;
enum class SnapshotUse : std::uint8_t;

/// compute thread -> replica: a copy of all that it was between two rounds; of any turn.
struct Snapped {
  std::uint64_t turn = 0;
  std::uint32_t view = 0;  ///< in which it was taken
  SnapshotUse use{};
  std::shared_ptr<Snapshot> snapshot;
  std::string error;
};

/// node -> replica: this is the end, though not of the job. Owed: StateKept.
struct KeepState {};

/// replica -> node: a checkpoint was written, or none can be.
struct StateKept {
  std::string text;  ///< for people
};

/// disk thread -> replica: a checkpoint was written, or was not.
struct Written {
  std::uint64_t number = 0;   ///< of the write
  std::uint64_t turn = 0;     ///< of the replica that asked
  std::uint32_t view = 0;     ///< in which it was asked for
  std::uint64_t history = 0;  ///< of the snapshot
  bool last = false;          ///< at the end of the run, which waits for it
  bool parting = false;       ///< asked for by KeepState
  std::string path;           ///< of the weights
  std::string manifest;       ///< its name
  std::uint64_t records = 0;
  std::uint64_t step = 0;
  std::uint64_t samples = 0;  ///< of the job, with this step
  std::uint64_t bytes = 0;
  std::string state_sha256;
  std::string folder;        ///< where it is, if not in checkpoint.folder
  std::string error;         ///< not empty: it was not written
  std::string advice;        ///< what a user can do about that
  bool disk = false;         ///< the disk refused, and may take it another time; then these hold, too
  std::uint64_t needed = 0;  ///< bytes of all its files
  std::optional<std::uint64_t> room;     ///< bytes that the disk says are free
  std::shared_ptr<const Snapshot> kept;  ///< what was to be written
  std::uint32_t tries = 0;
  std::chrono::nanoseconds tried_since{0};  ///< on the replica's clock
};

/// A replica to itself: this is to be written again.
struct WriteAgain {
  Written written;
};

/// A replica to itself: is this written by now?
struct WriteOverdue {
  Written written;                         ///< as it was asked for
  std::weak_ptr<const Snapshot> snapshot;  ///< the disk's thread still has it, unless it has just answered
  std::chrono::nanoseconds waited{0};
  bool elsewhere = false;           ///< the spare folder's disk is to answer
  std::uint32_t looks = kLooksMax;  ///< of all in which `waited` passes, with this one
};

/// A replica to itself: the checkpoint that all go back to is to be read again.
struct ReadAgain {
  std::uint64_t turn = 0;
  DiskTries tries;
};

/// replica -> coordinator: this checkpoint is on disk. If parts of a sharded optimizer are lost, all go back
/// to the last one.
struct Checkpointed {
  std::string manifest;  ///< its name in checkpoint.folder
  std::uint64_t records = 0;
  std::uint64_t step = 0;
  std::string path = {};            ///< of the weights
  std::string folder = {};          ///< where it is, if not in checkpoint.folder
  std::uint32_t view = 0;           ///< in which it was taken
  std::string weights_sha256 = {};  ///< empty: not known
  std::uint64_t samples = 0;        ///< of the job, with this step; 0: not known

  static auto fields(Checkpointed& x) {
    return std::tie(x.manifest, x.records, x.step, x.path, x.folder, x.view, x.weights_sha256, x.samples);
  }
};
MUSTER_MESSAGE(Checkpointed)

/// replica -> coordinator, in a view that goes back to a checkpoint: it has, or cannot. Owed where it cannot:
/// Close.
struct WentBack {
  NodeName name;
  std::uint32_t view = 0;
  std::string error;           ///< not empty: why it cannot
  Unread unread = Unread::no;  ///< refused: until cluster.give_up_after. Not "no": it may be whole

  static auto fields(WentBack& x) { return std::tie(x.name, x.view, x.error, x.unread); }
};
MUSTER_MESSAGE(WentBack)

}  // namespace muster
