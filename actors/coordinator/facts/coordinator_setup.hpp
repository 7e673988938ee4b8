// What a coordinator is started with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/messages/report_messages.hpp"
#include "actors/messages/view.hpp"
#include "actors/resume/resume.hpp"
#include "base/disk.hpp"
#include "config/placement.hpp"
#include "muster/job.hpp"
#include "muster/report.hpp"

namespace muster {

class Journal;
class ProgressHistory;

struct CoordinatorSetup {
  Job job;
  std::string job_toml;
  Placement placement;
  std::vector<Event> first_events;  ///< raised at the start: notices
  std::string job_hash;             ///< of what fixes the mathematics
  /// What a coordinator must know after its death: kept before each view is installed. Null: not kept, and a
  /// coordinator that dies is not replaced. Called by the actor: it must not block for long
  /// (bounded_journal.hpp), nor must `checkpoints` (bounded_disk.hpp).
  std::shared_ptr<Journal> journal;
  std::optional<Resume> resume;                 ///< the checkpoint to go on from
  std::shared_ptr<Disk> checkpoints = nullptr;  ///< checkpoint.folder; null: no job of this run writes any
  bool by_hand = false;                         ///< nodes are started by hand
  /// By hand: the run fails if nobody comes for long while places are free. Else it waits.
  bool start_is_bounded = false;
  bool reaps = false;       ///< nodes are children of this process: ChildEnded tells how each has ended
  std::string folder_mark;  ///< as in Welcome
  /// Called by the actor, on its thread; must not block. Any may be empty.
  std::function<void(const Event&)> on_event;
  std::function<void(const Progress&, const DataFacts&)> on_progress;
  /// A node that a launcher started counts as lost. `launched`: as in Join.
  std::function<void(std::uint64_t launched)> on_lost;
  /// Which steps are told of by the event `progress`; null: none. Used by the actor alone until its end.
  std::shared_ptr<ProgressHistory> progress = nullptr;
  std::function<void()> on_conclude;          ///< once: the outcome is known, and all are told to end
  std::function<void(const Report&)> on_end;  ///< once; only the journal's last entry is behind it
};

}  // namespace muster
