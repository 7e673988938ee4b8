// The processes of nodes that count as lost. Such a process may live: it stands still, holds its memory and
// its device, and does not hear that it is to end.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "actors/events/event.hpp"
#include "actors/messages/messages.hpp"
#include "base/mutex.hpp"

namespace muster {

/// Any thread.
class LostProcesses {
 public:
  void note(const Event& event) {
    if (event.name != "joined" && event.name != "lost") return;
    const bool loader = event.has("loader");
    const NodeName name{loader, static_cast<std::uint32_t>(event.integer(loader ? "loader" : "replica"))};
    const MutexLock lock(mutex_);
    if (event.name == "joined") {
      pids_[name] = event.integer("pid");
    } else if (const auto found = pids_.find(name); found != pids_.end()) {
      lost_.push_back(found->second);
    }
  }
  /// Those that were lost since the last call.
  std::vector<std::int64_t> take() {
    const MutexLock lock(mutex_);
    return std::exchange(lost_, {});
  }

 private:
  Mutex mutex_;
  std::map<NodeName, std::int64_t> pids_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::int64_t> lost_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
