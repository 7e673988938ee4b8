// A disk in memory that can crash at any operation, be full or read-only, tear a file and flip a bit. What
// was not synced is lost or torn by a crash, as the seed decides.
#pragma once

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/disk.hpp"

namespace muster {

/// The machine has stopped in the middle of an operation.
class DiskCrashed : public DiskError {
 public:
  DiskCrashed() : DiskError(EIO, "the machine has stopped") {}
};

class FaultyDisk : public Disk {
 public:
  explicit FaultyDisk(std::uint64_t seed = 1) : random_(seed) {}

  // ---- faults

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  /// The operation with this number (from 0, counted over all that change something) does not end.
  void crash_at(std::uint64_t operation) { crash_at_ = operation; }
  void never_crash() { crash_at_ = kNever; }
  std::uint64_t operations() const { return operations_; }
  /// Bytes that still fit.
  void set_room(std::uint64_t bytes) { room_ = bytes; }
  void set_read_only(bool read_only) { read_only_ = read_only; }
  void tear(const std::string& name) { file(name).content.resize(file(name).content.size() / 2); }
  void flip(const std::string& name, std::uint64_t bit) {
    auto& content = file(name).content;
    content[bit / 8 % content.size()] ^= std::byte{1} << (bit % 8);
  }
  bool holds(const std::string& name) const { return names_.count(name) > 0; }
  /// What `damage` was done to, as long as it is there.
  bool is_damaged(const std::string& name) const { return holds(name) && names_.at(name)->damaged; }
  void damage(const std::string& name, std::uint64_t bit) {
    flip(name, bit);
    file(name).damaged = true;
  }

  /// After a crash: of the names that were changed since the folder was synced some changes are there, in
  /// order, some are not; of a content that was not synced there is a part.
  void start_again() {
    auto names = durable_;
    for (const Change& change : pending_) {
      if (random_() % 2 == 0) apply(change, names);
    }
    for (auto& [name, inode] : names) {
      if (!inode->synced) inode->content.resize(random_() % (inode->content.size() + 1));
      inode->synced = true;
    }
    names_ = durable_ = std::move(names);
    pending_.clear();
    operations_ = 0;
    crashed_ = false;
    never_crash();
  }

  // ---- the disk

  std::string folder() const override { return "disk"; }
  std::uint64_t writer() const override { return 77; }

  std::vector<File> list() override {
    alive();
    std::vector<File> files;
    for (const auto& [name, inode] : names_) files.push_back({name, inode->content.size()});
    return files;
  }

  Bytes read(const std::string& name) override {
    alive();
    if (!holds(name)) throw DiskError(ENOENT, "cannot open " + name + ": there is none");
    return names_.at(name)->content;
  }

  void write(const std::string& name, Pieces pieces) override {
    may_change();
    auto inode = std::make_shared<Inode>();
    change({Change::Kind::add, name, {}, inode});
    for (const auto piece : pieces) {
      const std::uint64_t fits = std::min<std::uint64_t>(piece.size(), room_);
      const auto written = piece.first(ends_here() ? random_() % (fits + 1) : fits);
      inode->content.insert(inode->content.end(), written.begin(), written.end());
      if (room_ != kNever) room_ -= written.size();
      if (crashed_) throw DiskCrashed();
      if (fits < piece.size()) throw DiskError(ENOSPC, "cannot write " + name + ": No space left on device");
    }
    if (ends_here()) throw DiskCrashed();  // before it is synced
    inode->synced = true;
  }

  void rename(const std::string& from, const std::string& to) override {
    may_change();
    if (!holds(from)) throw DiskError(ENOENT, "cannot rename " + from + ": there is none");
    change({Change::Kind::rename, from, to, nullptr});
    if (ends_here()) throw DiskCrashed();
  }

  void remove(const std::string& name) override {
    may_change();
    if (!holds(name)) throw DiskError(ENOENT, "cannot remove " + name + ": there is none");
    room_ += room_ == kNever ? 0 : names_.at(name)->content.size();
    change({Change::Kind::remove, name, {}, nullptr});
    if (ends_here()) throw DiskCrashed();
  }

  void sync_folder() override {
    may_change();
    if (ends_here()) throw DiskCrashed();
    durable_ = names_;
    pending_.clear();
  }

 private:
  struct Inode {
    Bytes content;
    bool synced = false;
    bool damaged = false;
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;
  struct Change {
    enum class Kind { add, rename, remove } kind;
    std::string name, to;
    std::shared_ptr<Inode> inode;
  };

  static void apply(const Change& change, Names& names) {
    if (change.kind == Change::Kind::add) {
      names[change.name] = change.inode;
    } else if (const auto found = names.find(change.name); found != names.end()) {
      if (change.kind == Change::Kind::rename) names[change.to] = found->second;
      names.erase(change.name);
    }
  }

  void change(Change change) {
    apply(change, names_);
    pending_.push_back(std::move(change));
  }
  Inode& file(const std::string& name) {
    MUSTER_CHECK(holds(name), name);
    return *names_.at(name);
  }
  void alive() const {
    if (crashed_) throw DiskCrashed();
  }
  void may_change() const {
    alive();
    if (read_only_) throw DiskError(EROFS, "cannot write there: Read-only file system");
  }
  bool ends_here() { return crashed_ = crashed_ || operations_++ == crash_at_; }

  std::mt19937_64 random_;
  Names names_;    // as a program sees them
  Names durable_;  // as they are after a crash, with some of `pending_`
  std::vector<Change> pending_;
  std::uint64_t operations_ = 0, crash_at_ = kNever, room_ = kNever;
  bool read_only_ = false, crashed_ = false;
};

}  // namespace muster
