// The libraries of models that a process has loaded.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/mutex.hpp"

namespace muster {

class Registry;

/// Any thread.
class ModelLibraries {
 public:
  ModelLibraries();
  ~ModelLibraries();
  ModelLibraries(const ModelLibraries&) = delete;
  ModelLibraries& operator=(const ModelLibraries&) = delete;

  /// What the library registers; loaded at the first call for this path, and valid as long as this object.
  /// Throws Error that says why it cannot be loaded, or is no library of models for this program.
  const Registry& open(const std::string& path);

 private:
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<const Registry>> loaded_ MUSTER_GUARDED_BY(mutex_);  // never shrinks
};

}  // namespace muster
