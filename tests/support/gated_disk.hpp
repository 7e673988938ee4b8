// A disk that answers when a test lets it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/disk.hpp"
#include "tests/support/gate.hpp"

namespace muster::testing {

/// Every call stands at the gate first.
class GatedDisk final : public Disk {
 public:
  GatedDisk(std::shared_ptr<Disk> disk, std::shared_ptr<Gate> gate)
      : disk_(std::move(disk)), gate_(std::move(gate)) {}

  std::string folder() const override { return disk_->folder(); }
  std::uint64_t writer() const override { return disk_->writer(); }
  std::vector<File> list() override { return gated().list(); }
  Bytes read(const std::string& name) override { return gated().read(name); }
  void write(const std::string& name, Pieces pieces) override { gated().write(name, pieces); }
  void rename(const std::string& from, const std::string& to) override { gated().rename(from, to); }
  void remove(const std::string& name) override { gated().remove(name); }
  void sync_folder() override { gated().sync_folder(); }

 private:
  Disk& gated() {
    gate_->pass();
    return *disk_;
  }

  const std::shared_ptr<Disk> disk_;
  const std::shared_ptr<Gate> gate_;
};

}  // namespace muster::testing
