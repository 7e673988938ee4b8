#include "actors/coordinator/records/bounded_journal.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/mutex.hpp"

namespace muster {

struct BoundedJournal::Disk {
  explicit Disk(std::shared_ptr<Journal> there) : journal(std::move(there)) {}

  void write(const JournalEntry& entry, const std::string& text) {
    std::exception_ptr refused_with;
    try {
      journal->write(entry);
    } catch (...) {
      refused_with = std::current_exception();
    }
    const MutexLock lock(mutex);
    refusal = refused_with;
    if (refusal) return;
    written = text;
    numbers = entry.free;
  }

  const std::shared_ptr<Journal> journal;
  Mutex mutex;
  std::exception_ptr refusal MUSTER_GUARDED_BY(mutex);  // of the last entry
  std::string written MUSTER_GUARDED_BY(mutex);         // the last entry that was accepted, as its text
  FreeNumbers numbers MUSTER_GUARDED_BY(mutex);         // the same entry's
};

BoundedJournal::BoundedJournal(std::shared_ptr<Journal> journal, std::string where, const Waits& waits)
    : disk_(std::make_shared<Disk>(std::move(journal))),
      where_(std::move(where)),
      waits_(waits),
      calls_(waits.parting) {}

std::optional<JournalEntry> BoundedJournal::read() {
  struct Answer {
    std::optional<JournalEntry> entry;
    std::exception_ptr refusal;
  };
  const auto answer = std::make_shared<Answer>();
  const auto outcome = calls_.make(
      [disk = disk_, answer] {
        try {
          answer->entry = disk->journal->read();
        } catch (...) {
          answer->refusal = std::current_exception();
        }
      },
      std::exchange(has_read_, true) ? waits_.answer : waits_.first);
  if (outcome != BoundedCalls::Outcome::returned) not_answered();
  if (answer->refusal) std::rethrow_exception(answer->refusal);
  return std::move(answer->entry);
}

void BoundedJournal::write(const JournalEntry& entry) {
  const std::string text = encode_journal(entry);
  const bool has_answered = calls_.idle();  // what it answers from here on is heard the next time
  if (owed_ && has_answered && written_late(text)) return;
  if (owed_ && !has_answered && text == asked_) not_answered();
  const auto call = [disk = disk_, entry, text] { disk->write(entry, text); };
  switch (calls_.make(call, std::exchange(has_written_, true) ? waits_.answer : waits_.first)) {
    case BoundedCalls::Outcome::returned:
      break;
    case BoundedCalls::Outcome::not_begun:
      calls_.make_next(call);
      [[fallthrough]];
    case BoundedCalls::Outcome::under_way:
      owed_ = true;
      asked_ = text;
      not_answered();
  }
  const MutexLock lock(disk_->mutex);
  if (disk_->refusal) std::rethrow_exception(disk_->refusal);
}

FreeNumbers BoundedJournal::numbers_there() const {
  const MutexLock lock(disk_->mutex);
  return disk_->numbers;
}

// A disk that always takes longer than it is waited for would else never have written what is asked for. The
// entry is written anew where it is another one, or where the disk has refused it at last.
bool BoundedJournal::written_late(const std::string& text) {
  owed_ = false;
  const MutexLock lock(disk_->mutex);
  if (!disk_->refusal) return disk_->written == text;
  try {
    std::rethrow_exception(disk_->refusal);
  } catch (const TakenOver&) {
    throw;
  } catch (...) {
    return false;
  }
}

void BoundedJournal::not_answered() {
  throw Error("the disk of the journal " + where_ + " has not answered for " +
              std::to_string(std::max(calls_.not_returned_for(), waits_.answer).count()) +
              " ms; look at that disk, or at the file server that it is on");
}

std::shared_ptr<Journal> bounded_journal(std::shared_ptr<Journal> journal, std::string where) {
  return std::make_shared<BoundedJournal>(std::move(journal), std::move(where), BoundedJournal::Waits{});
}

}  // namespace muster
