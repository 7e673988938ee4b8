// How a run ends: perhaps a last checkpoint is written first, for a bounded time; then the outcome is
// decided, and nodes let go, for a bounded time; then it is finished. Pure. For one thread at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace muster {

class RunEnd {
 public:
  using Duration = std::chrono::nanoseconds;
  using Time = std::chrono::steady_clock::time_point;

  // --- a last checkpoint

  /// The run is to end so, once a member has written a last checkpoint.
  void keep_state(std::string outcome, std::string reason, Time until);
  bool keeps_state() const { return keeping_.has_value(); }
  /// Only while the state is kept, or was: what was asked for.
  const std::string& outcome() const { return keeping_->outcome; }
  const std::string& reason() const { return keeping_->reason; }
  void add_reason(const std::string& more) { keeping_->reason += more; }
  bool keeping_is_over(Time now) const { return keeping_ && now >= keeping_->until; }
  /// Time in which nobody could write does not count; but there is never more than `grace`.
  void stood_still(Duration gap, Time now, Duration grace);

  enum class Told {
    known,   ///< nothing follows
    first,   ///< the run is to end
    second,  ///< it was told so before, and still keeps its state: it ends without
    notice,  ///< it keeps its state for another reason
  };
  /// The run is told to end. `waits`: by one who waits for a checkpoint.
  Told told_to_end(const std::string& reason, bool waits);
  /// It keeps its state because it was told to end.
  void was_told() { keeping_->told = true; }

  /// What the disk said of a checkpoint, if that was the last report on one; for people.
  void checkpoint_refused(std::string what) { refusal_ = std::move(what); }
  void checkpoint_written() { refusal_.clear(); }
  const std::string& refusal() const { return refusal_; }

  // --- the outcome

  void decide(Time now);
  bool decided() const { return decided_at_.has_value(); }
  /// Nodes have had their time to let go.
  bool parting_is_over(Time now) const;
  /// A disk that is slow may still mark checkpoints that may hold wrong results.
  bool may_wait_for_marks(Time now) const;
  /// The run fails, for no member is heard.
  void give_up_silence() { gives_up_silence_ = true; }
  bool gives_up_silence() const { return gives_up_silence_; }
  /// The run ended, and has not completed: whether all could hear of it.
  void tell(bool all_heard) { all_were_told_ = all_heard; }
  bool all_were_told() const { return all_were_told_; }

  // --- the very end

  /// False: it is finished already.
  bool finish();
  bool finished() const { return finished_; }

 private:
  // How long nodes may take to let go after a completed run, before the run is over without their last
  // report.
  static constexpr Duration kPartingPatience = std::chrono::seconds(2);

  static constexpr Duration kMarksMax = std::chrono::seconds(10);

  struct Keeping {
    std::string outcome, reason;
    Time until;
    bool told = false;  // to end
  };
  std::optional<Keeping> keeping_;
  std::string refusal_;
  std::optional<Time> decided_at_;
  bool gives_up_silence_ = false;
  bool all_were_told_ = true;
  bool finished_ = false;
};

}  // namespace muster
