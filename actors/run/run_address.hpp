// Where the coordinator of a run can be asked: a small file in checkpoint.folder, as long as the run lives,
// so that `muster status FOLDER` and `muster stop FOLDER` find it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace muster {

struct RunAddress {
  std::string job;
  std::string host;  ///< name of the coordinator's machine
  std::string boot;  ///< of that machine (this_machine.hpp)
  std::int64_t pid = 0;
  std::string pid_space;   ///< in which `pid` holds (this_machine.hpp)
  std::string listen;      ///< cluster.listen
  std::uint16_t port = 0;  ///< 0: it can be asked at none, for its replicas live in its own process

  bool operator==(const RunAddress&) const = default;
};

/// The file is there as long as this object. A folder that takes no file, or whose disk does not answer
/// within 2 s, is left without one, or with one that is removed late or never.
class AddressFile {
 public:
  AddressFile(const std::filesystem::path& folder, const RunAddress& address);
  ~AddressFile();
  AddressFile(const AddressFile&) = delete;
  AddressFile& operator=(const AddressFile&) = delete;

  /// Why the folder is without one; empty if it has it.
  const std::string& why_not() const { return why_not_; }

 private:
  std::filesystem::path path_;
  std::string why_not_;
  RunAddress address_;
};

/// Of all runs that have left one in this folder, in the order of their jobs' names. One that was killed
/// leaves its own until the next run of that job. What is damaged is passed over.
std::vector<RunAddress> addresses_in(const std::filesystem::path& folder);

/// The host by which a process of this machine reaches it: `listen`, or, where that is every address, this
/// machine or the coordinator's name. Nothing if it listens for its own machine alone, and that is another
/// one.
std::optional<std::string> host_to_reach(const RunAddress& address);

/// It was on this machine, and its process is gone.
bool has_died(const RunAddress& address);
/// It is on this machine, and its process is stopped: by SIGSTOP, Ctrl-Z or a debugger.
bool is_stopped(const RunAddress& address);

}  // namespace muster
