// A folder for a thread that must not stand still: no call of it blocks for longer than a given time.
#pragma once

#include <chrono>
#include <memory>

#include "base/disk.hpp"

namespace muster {

/// How long the coordinator waits for a disk: half of the default of cluster.detect.patience. A disk that
/// answers at all does so within this time, unless it is overloaded.
inline constexpr std::chrono::milliseconds kDiskAnswerMax{500};

/// Another thread makes the calls. Where the disk does not answer within `most`, a call throws DiskError with
/// ETIMEDOUT; from then on, until the disk has answered, every other call throws the same at once. A change
/// that the disk did not answer may still be made, later; a further one is not made before it was answered.
std::shared_ptr<Disk> bounded_disk(std::shared_ptr<Disk> disk,
                                   std::chrono::milliseconds most = kDiskAnswerMax);

}  // namespace muster
