// When a replica takes checkpoints, and what follows from each that is written or refused. Every replica
// follows the schedule alike, so that another one can go on where the one that wrote stopped. Pure: whoever
// holds it writes. For one thread at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "actors/messages/checkpoint_messages.hpp"
#include "actors/rules/steps/checkpoint_due.hpp"
#include "muster/job.hpp"

namespace muster {

class CheckpointDuty {
 public:
  using Time = std::chrono::nanoseconds;  ///< on the replica's clock

  // --- when one is due

  /// The replica stands here, after so many records, and looks whether a checkpoint was due on the way.
  /// `every`: null if none are written.
  void look(const SchedulePoint& here, const Interval* every, std::uint64_t records);
  /// It stands here now, and nothing is due: it was put there.
  void stand_at(const SchedulePoint& here);
  bool due_at(std::uint64_t records) const { return due_at_ == records; }
  /// Whether to take the one that is due at so many records; once.
  bool take_due(std::uint64_t records) { return std::exchange(due_, false) && due_at_ == records; }

  // --- one at a time

  /// False: another one is still being written.
  bool begin() { return !std::exchange(writing_, true); }
  void end() { writing_ = false; }
  /// The state that is to be written was copied.
  void snapped(Time now) { snapped_at_ = now; }
  double seconds_since_snapshot(Time now) const {
    return std::chrono::duration<double>(now - snapped_at_).count();
  }

  // --- views

  /// A view begins. In the last one no more steps are taken; `back`: all go back to a checkpoint.
  void enter(std::uint32_t view, bool last, bool back, Time now);
  /// A checkpoint that was asked for in this view would be set aside: all have gone back since.
  bool is_void(const Written& written) const { return written.view < back_in_ && !written.parting; }

  // --- a disk that does not answer

  /// A write is begun: its number. What is waited for is its answer from now on, and that of no older one of
  /// its kind: on the way, for one that leaves, or of the job's end.
  std::uint64_t begin_write(const Written& asked);
  /// How long the disk has to answer: as long as one that refuses is tried; the spare folder's disk as long
  /// again.
  Time answers_within(const Written& asked, const Job& job, bool last_view, Time now) const;
  /// It has not, and nobody has answered instead.
  bool is_owed(const Written& asked) const { return asked.number == owed_[kind_of(asked)].number; }
  /// The spare folder's disk is to answer instead.
  void goes_elsewhere(const Written& refused) { owed_[kind_of(refused)].elsewhere = true; }
  bool is_elsewhere(const Written& asked) const { return owed_[kind_of(asked)].elsewhere; }
  /// Whether anything follows from this answer, but that a checkpoint is there.
  bool takes(const Written& answer) const;
  /// It was the last word on this write.
  void answered(const Written& answer) { owed_[kind_of(answer)].number = 0; }

  // --- what was written

  enum class Follows {
    is_final,   ///< it is written, or given up
    again,      ///< to be written once more, after `wait`
    elsewhere,  ///< to be written into the spare folder
  };
  struct Verdict {
    Follows follows = Follows::is_final;
    Time wait{0};
    Written written;  ///< with what is to be tried
  };
  /// The disk may refuse for a while; the checkpoints of the end go into another folder at last.
  Verdict judge(const Written& written, const Job& job, bool last_view, Time now) const;

  /// It is told of: what is told last is told again to a coordinator that was started anew.
  void told(const Checkpointed& checkpoint) { (checkpoint.folder.empty() ? told_ : spared_) = checkpoint; }
  std::vector<Checkpointed> told_last() const;
  /// The checkpoint of the job's end is written. It may have been asked for in a view before.
  void written_at_end(const Written& written) { end_ = written; }
  const std::optional<Written>& of_the_end() const { return end_; }
  /// Another state is in place: the job's end is still to come.
  void forget_end() { end_.reset(); }
  /// All went back to so many records: later checkpoints are none of this run any more.
  void go_back(std::uint64_t records);

 private:
  SchedulePoint looked_at_;
  std::optional<std::uint64_t> due_at_;  // at so many records
  bool due_ = false;
  bool writing_ = false;

  enum Kind { on_the_way, parting, of_the_job };
  static Kind kind_of(const Written& written);
  struct Owed {
    std::uint64_t number = 0;  // 0: none
    bool elsewhere = false;
  };

  std::uint64_t writes_ = 0;
  std::array<Owed, 3> owed_;        // by kind
  std::optional<Time> last_since_;  // in the last view, or in one before it that was last
  std::uint32_t back_in_ = 0;       // the last view that went back
  std::optional<Checkpointed> told_, spared_;
  Time snapped_at_{};
  std::optional<Written> end_;
};

}  // namespace muster
