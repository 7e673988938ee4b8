// The checkpoints that a run could go back to, as its coordinator knows them: what it finds in the folder,
// and what members report. A folder that could be read before, and cannot be now or is empty, is away: its
// server cannot be reached, or it is not mounted. One that was empty all the time may be another host's:
// there only reports of members count. Reads the folder, and writes nothing. For one thread at a time.
//
// Each question reads all that it needs as one call of the disk (folder_copy.hpp). So a disk that is slow
// (bounded_disk.hpp) has answered when the same is asked again, and then all questions are answered from
// memory.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint_list.hpp"
#include "actors/coordinator/states/checkpoints/attempt_verdicts.hpp"
#include "actors/messages/checkpoint_messages.hpp"
#include "base/disk.hpp"
#include "muster/job.hpp"

namespace muster {

/// What makes out a folder that is away: the coordinator has seen checkpoints there, or others have.
struct FolderSight {
  std::string job_hash;
  bool saw_any = false, knows_of_one = false;

  /// Blocks.
  bool is_away(Disk& folder) const;
};

class KnownCheckpoints {
 public:
  /// `folder`: null if the job writes none. The verdicts are those of the run as they become.
  KnownCheckpoints(std::shared_ptr<Disk> folder, const Job& job, std::string job_hash,
                   const AttemptVerdicts& verdicts);

  // --- the folder

  /// Whether there are any; not looked at again once there were.
  void look();
  bool is_away() const;
  const FolderSight& sight() const { return sight_; }
  /// What is there to read, at one moment. Only if there is a folder. Throws DiskError.
  std::shared_ptr<Disk> manifests() const;
  /// The verdicts there; none where they cannot be read.
  std::vector<Verdict> verdicts_there() const;
  /// A member has changed the folder: what a slow disk was asked before counts no more.
  void others_write() { ++written_; }
  /// Whether it can be read now, or there is none.
  bool can_be_listed() const { return !folder_ || listed().has_value(); }
  bool finds(const std::string& manifest) const;
  /// A newer one has taken its place, of which nobody told; or there is a verdict on it.
  bool is_gone(const std::string& manifest) const;
  /// It was there: whoever does not find it does not see the folder.
  bool is_missed(const std::string& manifest) const;
  /// What the disk says where one may be there before this step that is better than those that are known.
  std::optional<std::string> hidden_before(std::uint64_t step) const;
  /// From here on the folder is as it is now, for several questions; until `look_anew`.
  void hold();
  void look_anew() { held_.reset(); }

  // --- what there is to go back to

  /// The newest one in the folder that does not hold this step: of this run, or else of one that it may have
  /// gone on from.
  std::optional<ListedCheckpoint> last_before(std::uint64_t step) const;
  /// The same, if it is of this run.
  std::optional<ListedCheckpoint> last_of_run_before(std::uint64_t step) const;
  /// As last_before, or what members reported, if that is newer: the coordinator may not be able to read it.
  std::optional<Checkpointed> good_before(std::uint64_t step) const;

  // --- what members report

  /// Replicas could not read it, in a view before that of this report.
  bool refuses(const Checkpointed& report);
  /// It is written.
  void reported(const Checkpointed& report);
  /// There is at least one, whatever the folder says.
  void know_of_one() { sight_.knows_of_one = true; }
  /// Steps from `from` on count no more.
  void forget_from(std::uint64_t from);
  void forget_reports() { reports_.clear(); }
  /// In this view nobody could go back to the checkpoint with which it began: it is damaged, or gone. `must`:
  /// the last one is to be older than that; else it stays if it is another one.
  void pass_over(const PartSource& source, std::uint32_t view, bool must);
  bool is_passed_over(const std::string& manifest) const { return passed_over_.contains(manifest); }
  bool passed_over_any() const { return !passed_over_.empty(); }

  // --- the last one of this run, or the one that it goes on from

  const Checkpointed& last() const { return last_; }
  bool any() const { return !last_.manifest.empty(); }
  /// It is read from the folder, or reported: not only noted in a journal.
  bool last_is_known() const { return last_is_known_; }
  void go_on_from(const Checkpointed& last) { last_ = last; }
  /// A coordinator that was started again: its journal's view began with this one, or members have written a
  /// newer one since.
  void go_on_from(const PartSource& source, std::uint64_t history);
  /// One of this run that is in the folder, if it has more records.
  void take_newer_before(std::uint64_t step);
  /// The last good one before this step; none, if there is none.
  void fall_back_before(std::uint64_t step) { last_ = good_before(step).value_or(Checkpointed{}); }

 private:
  /// Those with no verdict on them; nothing where the folder cannot be read now.
  std::optional<std::vector<ListedCheckpoint>> listed() const;
  Checkpointed as_report(const ListedCheckpoint& good) const;
  void remember(const Checkpointed& report);

  std::shared_ptr<Disk> folder_;
  std::string job_;
  FolderSight sight_;
  std::size_t reports_max_;
  const AttemptVerdicts& verdicts_;
  std::uint64_t written_ = 0;         // how often others have changed the folder
  std::shared_ptr<Disk> held_;        // null: it is read anew each time
  std::deque<Checkpointed> reports_;  // the last ones, by record
  std::map<std::string, std::uint32_t> passed_over_;
  Checkpointed last_;
  bool last_is_known_ = true;
};

}  // namespace muster
