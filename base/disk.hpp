// The seam to storage: one folder of files. A real one, and in the tests one in memory that can be full,
// tear, flip and crash.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
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

  /// See read_as_one and change_as_one, below, which are easier to call.
  using Calls = std::function<std::any(Disk&)>;
  enum class Does { reads, changes };
  virtual std::any as_one(Does, const std::string& what, const Calls& calls) {
    (void)what;
    return calls(*this);
  }
};

/// Makes several calls, of which none changes anything, as one: a disk whose calls another thread makes
/// (base/bounded/bounded_disk.hpp) makes all of them there, and they are answered together. `what` names the
/// calls with all of their arguments. `read` gets the disk, and is on its own: it may run on another thread,
/// and outlive whoever asked, so it owns all that it uses. Returns what it returns, which is copied. Throws
/// DiskError, and what `read` throws.
template <class Read>
auto read_as_one(Disk& disk, const std::string& what, Read read) {
  using Answer = std::invoke_result_t<Read, Disk&>;
  return std::any_cast<Answer>(disk.as_one(
      Disk::Does::reads, what, [read = std::move(read)](Disk& there) { return std::any(read(there)); }));
}

/// The same for calls that change something.
template <class Change>
void change_as_one(Disk& disk, const std::string& what, Change change) {
  disk.as_one(Disk::Does::changes, what, [change = std::move(change)](Disk& there) {
    change(there);
    return std::any();
  });
}

/// What this writer calls a file until it is whole.
std::string temporary_name(const Disk& disk, const std::string& name);

/// Puts a file in place whole, or not at all: a reader sees what was there before, or this. The content is on
/// disk when the call returns, the name is not. Throws DiskError, and leaves no temporary file if it can.
void replace_file(Disk& disk, const std::string& name, Disk::Pieces pieces);

/// The folder `path` of this machine.
std::shared_ptr<Disk> open_disk(const std::string& path);

}  // namespace muster
