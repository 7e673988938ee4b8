// The seam to storage: one folder of files. A real one, and in the tests one in memory that can be full,
// tear, flip and crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muster/error.hpp"

namespace muster {

/// What the system answered; `code` is its errno.
class DiskError : public Error {
 public:
  DiskError(int code, const std::string& what) : Error(what), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// What a user can do about it: "free space there, or ...".
std::string advice_for(const DiskError& error);

/// A folder and the files directly in it, by name. Blocks; one thread at a time. Throws DiskError.
class Disk {
 public:
  using Bytes = std::vector<std::byte>;
  using Pieces = std::span<const std::span<const std::byte>>;
  struct File {
    std::string name;
    std::uint64_t bytes = 0;  ///< 0, too, where it cannot be looked at
  };

  virtual ~Disk() = default;

  /// For people: where the folder is.
  virtual std::string folder() const = 0;
  /// The regular files, by name ascending; none if there is no folder.
  virtual std::vector<File> list() = 0;
  virtual Bytes read(const std::string& name) = 0;
  /// A new file, or a new content. The content is on disk when the call returns, the name is not: a crash may
  /// still take it back. Makes the folder if there is none.
  virtual void write(const std::string& name, Pieces pieces) = 0;
  /// Atomic; replaces `to`. Not on disk before sync_folder.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void remove(const std::string& name) = 0;
  /// Names are on disk when the call returns.
  virtual void sync_folder() = 0;
  /// Stands in the names of files that are under way: no other object, also of another host, has the same.
  virtual std::uint64_t writer() const = 0;
  /// From the next write on nobody but this user can look into the folder; one of another user is refused.
  virtual void keep_private() {}
  /// Bytes that are free; nothing where nobody knows.
  virtual std::optional<std::uint64_t> room() { return std::nullopt; }
};

/// What this writer calls a file until it is whole.
std::string temporary_name(const Disk& disk, const std::string& name);

/// Puts a file in place whole, or not at all: a reader sees what was there before, or this. The content is on
/// disk when the call returns, the name is not. Throws DiskError, and leaves no temporary file if it can.
void replace_file(Disk& disk, const std::string& name, Disk::Pieces pieces);

/// The folder `path` of this machine.
std::shared_ptr<Disk> open_disk(const std::string& path);

}  // namespace muster
