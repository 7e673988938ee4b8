// Holds a file for one process at a time, also where several hosts share the folder over NFS and a lock
// reaches no further than its host.
//
// Within a host an flock decides. Between hosts the holder writes who it is into the file, and touches the
// file every second; who comes from another host waits until three beats are due, and is refused if it sees
// one.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "base/mutex.hpp"
#include "muster/error.hpp"

namespace muster {

/// Another process holds it.
class FolderHeld : public Error {
 public:
  using Error::Error;
};

class FolderLease {
 public:
  static constexpr std::chrono::milliseconds kBeat{1000};
  static constexpr std::chrono::milliseconds kWatch = 3 * kBeat;

  /// Blocks for up to kWatch, but only if the last holder was on another host, or before this one was started
  /// again. Makes the folder. Throws FolderHeld, naming the holder; Error where the folder or the file cannot
  /// be made.
  explicit FolderLease(std::filesystem::path path);
  ~FolderLease();
  FolderLease(const FolderLease&) = delete;
  FolderLease& operator=(const FolderLease&) = delete;

 private:
  void refuse_living_holder(bool locked) MUSTER_EXCLUDES(mutex_);
  void beat() MUSTER_EXCLUDES(mutex_);

  std::filesystem::path path_;
  int file_ = -1;
  Mutex mutex_;
  ConditionVariable over_changed_;
  bool over_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread beating_;
};

/// "process 4711 on host a (boot ...)": what a holder writes.
std::string lease_holder(long pid, const std::string& host, const std::string& boot);

}  // namespace muster
