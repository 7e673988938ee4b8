// The folder of checkpoints as one host sees it: a host that does not share it can write there, and finds
// nothing to read; while its server cannot be reached, every call fails.
#pragma once

#include <cerrno>
#include <memory>
#include <utility>

#include "muster/actors/disk.hpp"

namespace muster {

class MountedDisk final : public Disk {
 public:
  /// Both may change at any time. `blind`: this host does not share the folder. `away`: nobody can reach it.
  MountedDisk(std::shared_ptr<Disk> shared, std::shared_ptr<const bool> blind,
              std::shared_ptr<const bool> away)
      : shared_(std::move(shared)), blind_(std::move(blind)), away_(std::move(away)) {}

  std::string folder() const override { return shared_->folder(); }
  std::uint64_t writer() const override { return shared_->writer(); }
  std::vector<File> list() override { return reach("list the folder").list(); }
  Bytes read(const std::string& name) override {
    Disk& disk = reach("open " + name);
    if (*blind_) throw DiskError(ENOENT, "cannot open " + name + ": No such file or directory");
    return disk.read(name);
  }
  void write(const std::string& name, Pieces pieces) override { reach("write " + name).write(name, pieces); }
  void rename(const std::string& from, const std::string& to) override {
    reach("rename " + from).rename(from, to);
  }
  void remove(const std::string& name) override { reach("remove " + name).remove(name); }
  void sync_folder() override { reach("write the folder").sync_folder(); }
  std::optional<std::uint64_t> room() override { return *away_ ? std::nullopt : shared_->room(); }

 private:
  Disk& reach(const std::string& action) const {
    if (*away_) throw DiskError(EIO, "cannot " + action + ": Input/output error");
    return *shared_;
  }

  std::shared_ptr<Disk> shared_;
  std::shared_ptr<const bool> blind_;
  std::shared_ptr<const bool> away_;
};

}  // namespace muster
