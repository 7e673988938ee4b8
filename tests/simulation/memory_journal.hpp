// A journal that outlives the coordinator's process, as a file does; its disk can be full, and the process
// can die at a write, before it or behind it.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include "actors/coordinator/records/journal.hpp"
#include "muster/error.hpp"

namespace muster::simulation {

struct JournalDisk {
  std::optional<JournalEntry> entry;
  bool full = false;
  enum class Death { none, before, behind };
  Death death = Death::none;  ///< at the next write
  std::uint64_t writes = 0;
  std::deque<JournalEntry> before;  ///< with a view, that were replaced; the last one in front
  static constexpr std::size_t kBeforeMax = 8;

  /// It is restored from a copy: of the view before, where there is one, or older by so many writes.
  void restore(std::size_t writes_ago) {
    if (before.empty() || writes_ago == 0 || !entry || entry->ended || entry->completed) return;
    const auto older = std::ranges::find_if(
        before, [&](const JournalEntry& each) { return each.view.number < entry->view.number; });
    const auto skipped = older == before.end() ? 0 : static_cast<std::size_t>(older - before.begin());
    entry = before[std::min(skipped + writes_ago, before.size()) - 1];
    before.clear();
  }
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
    refuse_usurped(entry, disk_->entry, "memory");
    if (disk_->full) throw Error("the disk is full");
    if (disk_->entry && disk_->entry->view.number > 0) disk_->before.push_front(*disk_->entry);
    if (disk_->before.size() > JournalDisk::kBeforeMax) disk_->before.pop_back();
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
