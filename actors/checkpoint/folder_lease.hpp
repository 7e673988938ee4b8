// Holds a file for one process at a time, also where several hosts share the folder over NFS and a lock
// reaches no further than its host.
//
// Within a host an flock decides. Between hosts the holder writes who it is into the file, and touches the
// file every second; who comes from another host waits until three beats are due, and is refused if it sees
// one.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

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
  /// Waits for a beat that the disk does not answer for at most kBeat. Then the thread is left behind, and
  /// the file stays locked until the disk answers or the process ends.
  ~FolderLease();
  FolderLease(const FolderLease&) = delete;
  FolderLease& operator=(const FolderLease&) = delete;

 private:
  struct Held;  // what the thread uses, which may outlive this object

  std::shared_ptr<Held> held_;
  std::thread beating_;
};

/// "process 4711 on host a (boot ...)": what a holder writes.
std::string lease_holder(long pid, const std::string& host, const std::string& boot);

}  // namespace muster
