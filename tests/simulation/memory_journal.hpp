// A journal that outlives the coordinator's process, as a file does; its disk can be full, and the process
// can die at a write, before it or behind it.
#pragma once

#include <functional>
#include <optional>

#include "muster/actors/journal.hpp"
#include "muster/config/error.hpp"

namespace muster::simulation {

struct JournalDisk {
  std::optional<JournalEntry> entry;
  bool full = false;
  enum class Death { none, before, behind };
  Death death = Death::none;  ///< at the next write
  std::uint64_t writes = 0;
};

class MemoryJournal final : public Journal {
 public:
  /// `alive`: whether the process that writes still is; `die` ends it.
  MemoryJournal(std::shared_ptr<JournalDisk> disk, std::function<bool()> alive, std::function<void()> die)
      : disk_(std::move(disk)), alive_(std::move(alive)), die_(std::move(die)) {}

  std::optional<JournalEntry> read() override {
    if (!disk_->entry) return std::nullopt;
    return decode_journal(encode_journal(*disk_->entry));
  }

  void write(const JournalEntry& entry) override {
    if (!alive_()) return;
    const auto death = std::exchange(disk_->death, JournalDisk::Death::none);
    if (death == JournalDisk::Death::before) return die_();
    if (disk_->full) throw Error(Advice::give_up, "the disk is full");
    disk_->entry = entry;
    ++disk_->writes;
    if (death == JournalDisk::Death::behind) die_();
  }

 private:
  std::shared_ptr<JournalDisk> disk_;
  std::function<bool()> alive_;
  std::function<void()> die_;
};

}  // namespace muster::simulation
