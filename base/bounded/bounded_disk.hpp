// A folder for a thread that must not stand still: no call of it blocks for longer than a given time. A disk
// that is slow makes all calls nevertheless, if they are asked for again.
#pragma once

#include <chrono>
#include <memory>

#include "base/disk.hpp"

namespace muster {

/// How long the coordinator waits for a disk: half of the default of cluster.detect.patience. A disk that
/// answers at all does so within this time, unless it is overloaded.
inline constexpr std::chrono::milliseconds kDiskAnswerMax{500};
/// The same when the coordinator starts: then it listens to nobody.
inline constexpr std::chrono::milliseconds kFirstDiskAnswerMax{10000};

struct DiskWaits {
  std::chrono::milliseconds first = kFirstDiskAnswerMax;  ///< for the first call
  std::chrono::milliseconds answer = kDiskAnswerMax;      ///< for each further one
  /// So long the destructor waits for a call that has not returned; then it leaves the thread behind. A
  /// change that is not made by then is lost, as in a crash.
  std::chrono::milliseconds parting{2000};
};

/// Another thread makes the calls, one at a time. Where the disk does not answer in time, a call throws
/// DiskError with ETIMEDOUT. Until it has answered, every call throws the same at once: the same one, for
/// nobody waits for it twice, and any other, for it is not made, nor made later.
///
/// The answer that comes late is for whoever asks the same again: the same operation with the same arguments,
/// or the same `what` of read_as_one or change_as_one. So a caller tries again, a while later, with the same
/// arguments, and need not know how slow the disk is. It gets the late answer within LateAnswers::kKept, once
/// if it is a refusal, and never behind a change that was begun since; of what was read, not if it was asked
/// for more than LateAnswers::kReadAgeMax ago. A change that was answered late is not made again; if nobody
/// asks for it again it is made nevertheless, before any other one.
///
/// What takes several calls is to be one read_as_one or change_as_one. Changes that follow each other singly
/// would begin anew each time, for each makes the answers before it void.
std::shared_ptr<Disk> bounded_disk(std::shared_ptr<Disk> disk, const DiskWaits& waits = {});

}  // namespace muster
