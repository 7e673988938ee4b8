// A journal in memory whose writes are in the log of a part's test. Its disk may be full, and another
// coordinator may have it.
#pragma once

#include <optional>
#include <string>

#include "actors/coordinator/records/journal.hpp"
#include "tests/support/recording_ports.hpp"

namespace muster::testing {

class RecordedJournal final : public Journal {
 public:
  explicit RecordedJournal(PartLog& log) : log_(log) {}

  std::optional<JournalEntry> read() override { return entry; }
  void write(const JournalEntry& written) override {
    if (taken) throw TakenOver("another coordinator has taken this run over");
    refuse_usurped(written, entry, "memory");
    if (full) throw Error("the disk is full");
    log_.add("journal view " + std::to_string(written.view.number));
    entry = written;
  }

  std::optional<JournalEntry> entry;
  bool taken = false, full = false;

 private:
  PartLog& log_;
};

}  // namespace muster::testing
