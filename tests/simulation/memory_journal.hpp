// A journal that outlives the coordinator's process, as a file does. Its disk can be full, or answer nothing
// for a while, and the process can die at a write, before it or behind it.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "actors/coordinator/records/journal.hpp"
#include "muster/error.hpp"

namespace muster::simulation {

struct JournalDisk {
  std::optional<JournalEntry> entry;
  bool full = false;
  bool silent = false;               ///< it answers nothing, as bounded_journal.hpp says it
  std::optional<JournalEntry> late;  ///< was not answered, and is written when the disk answers again
  enum class Death { none, before, behind };
  Death death = Death::none;  ///< at the next write
  std::uint64_t writes = 0;
  std::deque<JournalEntry> before;  ///< with a view, that were replaced; the last one in front
  static constexpr std::size_t kBeforeMax = 8;

  void answer_again() {
    silent = false;
    const auto written = std::exchange(late, std::nullopt);
    if (written && (!entry || entry->term <= written->term)) put(*written);
  }
  void put(const JournalEntry& written) {
    if (entry && entry->view.number > 0) before.push_front(*entry);
    if (before.size() > kBeforeMax) before.pop_back();
    entry = written;
    ++writes;
  }

  /// It is restored from a copy: of the view before, where there is one, or older by so many writes.
  void restore(std::size_t writes_ago) {
    if (before.empty() || writes_ago == 0 || !entry || entry->ended || entry->completed) return;
    const auto older = std::ranges::find_if(
        before, [&](const JournalEntry& each) { return each.view.number < entry->view.number; });
    const auto skipped = older == before.end() ? 0 : static_cast<std::size_t>(older - before.begin());
    entry = before[std::min(skipped + writes_ago, before.size()) - 1];
    before.clear();
    late.reset();
  }
};

class MemoryJournal final : public Journal {
 public:
  /// `alive`: whether the process that writes still is; `die` ends it.
  MemoryJournal(std::shared_ptr<JournalDisk> disk, std::function<bool()> alive, std::function<void()> die)
      : disk_(std::move(disk)), alive_(std::move(alive)), die_(std::move(die)) {}

  std::optional<JournalEntry> read() override {
    if (std::exchange(has_read_, true) && disk_->silent) throw Error("the disk has not answered");
    if (!disk_->entry) return std::nullopt;
    return decode_journal(encode_journal(*disk_->entry));
  }

  void write(const JournalEntry& entry) override {
    if (!alive_()) return;
    const auto death = std::exchange(disk_->death, JournalDisk::Death::none);
    if (death == JournalDisk::Death::before) return die_();
    refuse_usurped(entry, disk_->entry, "memory");
    writer_ = entry.writer;
    if (disk_->full) throw Error("the disk is full");
    if (disk_->silent) {
      disk_->late = entry;
    } else {
      disk_->put(entry);
    }
    if (death == JournalDisk::Death::behind) return die_();
    if (disk_->silent) throw Error("the disk has not answered");
  }

  FreeNumbers numbers_there() const override {
    return writer_ != 0 && disk_->entry && disk_->entry->writer == writer_ ? disk_->entry->free
                                                                           : FreeNumbers{};
  }

 private:
  std::shared_ptr<JournalDisk> disk_;
  std::function<bool()> alive_;
  std::function<void()> die_;
  bool has_read_ = false;
  std::uint64_t writer_ = 0;
};

}  // namespace muster::simulation
