// A journal for the coordinator's thread, which must not stand still: a disk that neither accepts nor refuses
// an entry is reported as one that refuses it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "actors/coordinator/records/journal.hpp"
#include "base/bounded/bounded_calls.hpp"
#include "base/bounded/bounded_disk.hpp"

namespace muster {

/// Another thread reads and writes `journal`. For one thread at a time.
///
/// `write` waits for the disk for at most `answer`, and then throws Error, which says for how long the disk
/// has not answered. Until the disk has answered each further call throws the same at once, and the newest
/// entry is written next. A write that succeeds is behind all earlier ones. Whoever asks for the same entry
/// again, when it was written late, hears that it is written; and `numbers_there` has its numbers.
///
/// So the journal may hold an entry that the coordinator counts as refused. That is safe: a coordinator that
/// dies behind any write leaves the same, and the next one goes on with what the members tell it
/// (docs/internals/protocol.md). The numbers in such an entry count as given. The view in it was sent to no
/// member. Only the last view of a run is sent without its entry: it may have the number of that view, and
/// counts more (adoption.cpp).
class BoundedJournal final : public Journal {
 public:
  /// The destructor waits so long for entries to come to the disk, then it leaves the thread behind.
  static constexpr std::chrono::milliseconds kPartingMax{2000};

  struct Waits {
    std::chrono::milliseconds first = kFirstDiskAnswerMax;  ///< for the first read, and the first entry
    std::chrono::milliseconds answer = kDiskAnswerMax, parting = kPartingMax;
  };

  /// `where`: the file, for people.
  BoundedJournal(std::shared_ptr<Journal> journal, std::string where, const Waits& waits);

  std::optional<JournalEntry> read() override;
  void write(const JournalEntry& entry) override;
  FreeNumbers numbers_there() const override;

 private:
  struct Disk;  // what the other thread uses

  bool written_late(const std::string& text);
  [[noreturn]] void not_answered();

  const std::shared_ptr<Disk> disk_;
  const std::string where_;
  const Waits waits_;
  bool has_read_ = false, has_written_ = false;
  bool owed_ = false;  // an entry was not answered when its caller was told so
  std::string asked_;  // that one, or the one behind it: the last that was asked for
  BoundedCalls calls_;
};

std::shared_ptr<Journal> bounded_journal(std::shared_ptr<Journal> journal, std::string where);

}  // namespace muster
