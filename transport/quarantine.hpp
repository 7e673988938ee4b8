// Memory that must outlive all use: a transfer into it was abandoned, and may still write.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace muster {

/// Keeps the value, with all that it owns, for the life of the process. Any thread. Happens at most once or
/// twice for each peer that vanished in the middle of a message.
template <class Value>
void quarantine(Value value) {
  static Mutex mutex;
  static auto* const quarantined MUSTER_PT_GUARDED_BY(mutex) = new std::vector<std::shared_ptr<void>>;
  const MutexLock lock(mutex);
  quarantined->push_back(std::make_shared<Value>(std::move(value)));
}

}  // namespace muster
