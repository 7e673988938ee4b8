// The folder of checkpoints as a host sees it that does not share it: it can write there, and finds nothing
// to read.
#pragma once

#include <cerrno>
#include <memory>
#include <utility>

#include "muster/actors/disk.hpp"

namespace muster {

class BlindDisk final : public Disk {
 public:
  /// `blind` may change at any time.
  BlindDisk(std::shared_ptr<Disk> shared, std::shared_ptr<const bool> blind)
      : shared_(std::move(shared)), blind_(std::move(blind)) {}

  std::string folder() const override { return shared_->folder(); }
  std::uint64_t writer() const override { return shared_->writer(); }
  std::vector<File> list() override { return shared_->list(); }
  Bytes read(const std::string& name) override {
    if (*blind_) throw DiskError(ENOENT, "cannot open " + name + ": No such file or directory");
    return shared_->read(name);
  }
  void write(const std::string& name, Pieces pieces) override { shared_->write(name, pieces); }
  void rename(const std::string& from, const std::string& to) override { shared_->rename(from, to); }
  void remove(const std::string& name) override { shared_->remove(name); }
  void sync_folder() override { shared_->sync_folder(); }
  std::optional<std::uint64_t> room() override { return shared_->room(); }

 private:
  std::shared_ptr<Disk> shared_;
  std::shared_ptr<const bool> blind_;
};

}  // namespace muster
