// The folder of checkpoints as one host sees it: a host that does not share it can write there, and finds
// nothing to read; while its server cannot be reached, every call fails.
#pragma once

#include <cerrno>
#include <memory>
#include <utility>

#include "base/disk.hpp"

namespace muster {

enum class Away {
  no,
  all,       ///< every call fails
  reads,     ///< the folder can be listed; nothing can be read or written
  unmounted  ///< the folder is empty, and takes nothing
};

class MountedDisk final : public Disk {
 public:
  /// Both may change at any time. `blind`: this host does not share the folder.
  MountedDisk(std::shared_ptr<Disk> shared, std::shared_ptr<const bool> blind,
              std::shared_ptr<const Away> away)
      : shared_(std::move(shared)), blind_(std::move(blind)), away_(std::move(away)) {}

  std::string folder() const override { return shared_->folder(); }
  std::uint64_t writer() const override { return shared_->writer(); }
  std::vector<File> list() override {
    if (*away_ == Away::all) refuse("list the folder", EIO);
    return *away_ == Away::unmounted ? std::vector<File>{} : shared_->list();
  }
  Bytes read(const std::string& name) override {
    if (*blind_ || *away_ == Away::unmounted) refuse("open " + name, ENOENT);
    if (*away_ != Away::no) refuse("open " + name, EIO);
    return shared_->read(name);
  }
  void write(const std::string& name, Pieces pieces) override {
    changing("write " + name).write(name, pieces);
  }
  void rename(const std::string& from, const std::string& to) override {
    changing("rename " + from).rename(from, to);
  }
  void remove(const std::string& name) override { changing("remove " + name).remove(name); }
  void sync_folder() override { changing("write the folder").sync_folder(); }
  std::optional<std::uint64_t> room() override { return *away_ == Away::no ? shared_->room() : std::nullopt; }

 private:
  [[noreturn]] static void refuse(const std::string& action, int code) {
    throw DiskError(
        code, "cannot " + action + (code == EIO ? ": Input/output error" : ": No such file or directory"));
  }
  Disk& changing(const std::string& action) const {
    if (*away_ != Away::no) refuse(action, EIO);
    return *shared_;
  }

  std::shared_ptr<Disk> shared_;
  std::shared_ptr<const bool> blind_;
  std::shared_ptr<const Away> away_;
};

}  // namespace muster
