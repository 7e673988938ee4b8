// Memory that must outlive all use: a transfer into it was abandoned, and may still write.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace muster {

/// Keeps the value, with all that it owns, for the life of the process. Any thread. Happens at most once or
/// twice for each peer that vanished in the middle of a message.
template <class Value>
void quarantine(Value value) {
  static std::mutex mutex;
  static auto* quarantined = new std::vector<std::shared_ptr<void>>;
  const std::lock_guard lock(mutex);
  quarantined->push_back(std::make_shared<Value>(std::move(value)));
}

}  // namespace muster
