// The processes of nodes that count as lost, as their launcher knows them: by the number of their start. A
// pid is unique on one host only. Such a process may live: it stands still, holds its memory and its device,
// and does not hear that it is to end.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace muster {

/// Any thread.
class LostProcesses {
 public:
  void note(std::uint64_t launched) {
    const MutexLock lock(mutex_);
    lost_.push_back(launched);
  }
  /// Those that were lost since the last call.
  std::vector<std::uint64_t> take() {
    const MutexLock lock(mutex_);
    return std::exchange(lost_, {});
  }

 private:
  Mutex mutex_;
  std::vector<std::uint64_t> lost_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
