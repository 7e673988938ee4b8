// The journal: what a coordinator must find again when it is started anew while its replicas train on. One
// small file, replaced as a whole and on disk before a view is installed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/messages/epoch_end.hpp"
#include "actors/messages/view.hpp"
#include "muster/error.hpp"

namespace muster {

struct JournalEntry {
  std::string job_hash;
  std::uint64_t term = 0;  ///< raised at each start, before anybody is listened to
  View view;               ///< sent last; number 0: none yet
  FreeNumbers free;
  bool ended = false;      ///< the run came to its end, whatever it was, and all were told
  bool completed = false;  ///< it was completed, with what follows; some may not know yet
  std::uint64_t steps = 0, samples = 0;
  std::string weights_sha256 = {};
  std::vector<EpochEnd> epochs = {};
  std::uint32_t first_view = 1;  ///< the number of the first one, where earlier ones were void
  /// Results of this step and later ones may be wrong, and no view has gone back yet; 0: none are known.
  std::uint64_t suspect_from = 0;
  /// The same, where nobody knows yet which member is wrong, and there is no checkpoint before.
  std::uint64_t doubt_from = 0;
  std::uint64_t writer = 0;  ///< the coordinator that wrote it: a number by chance; 0: not known
};

/// Another coordinator has written to the journal since: its term is not lower.
class TakenOver : public Error {
 public:
  using Error::Error;
};

/// It can be read, and is no journal.
class DamagedJournal : public Error {
 public:
  using Error::Error;
};

class Journal {
 public:
  virtual ~Journal() = default;
  /// Nothing if there is none. Throws Error if it cannot be read, DamagedJournal if it is damaged.
  virtual std::optional<JournalEntry> read() = 0;
  /// On disk when it returns. Throws Error; TakenOver as refuse_usurped.
  virtual void write(const JournalEntry& entry) = 0;
  /// A coordinator that is started again gives none below these: they are in the last entry that this object
  /// has put on disk, also where its caller was told that the disk has not answered. Does not ask the disk.
  /// 0: that is not known, and each is written.
  virtual FreeNumbers numbers_there() const { return {}; }
};

/// In a file, held by one coordinator as long as the object lives: a second one throws Error, also
/// on another host (folder_lease.hpp).
std::shared_ptr<Journal> make_journal(const std::filesystem::path& path);

/// Throws TakenOver if what lies `there` has a higher term, or the same term of another writer: two
/// coordinators that were started with one journal have the same term. If both have written, the one whose
/// entry lies there goes on.
void refuse_usurped(const JournalEntry& entry, const std::optional<JournalEntry>& there,
                    const std::string& where);

std::string encode_journal(const JournalEntry& entry);
/// Nothing if the text is damaged.
std::optional<JournalEntry> decode_journal(const std::string& text);

}  // namespace muster
