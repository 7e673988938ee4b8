// What a replica is doing, as far as views decide it, and what it does next between two records. Pure. For
// one thread at a time.
#pragma once

#include <utility>

namespace muster {

/// What a replica does next. Only one of these goes on at a time.
enum class NextActivity {
  rest,             ///< wait for the view to be in force
  go_on,            ///< the view is in force: begin with what it asks for
  catch_up,         ///< apply records that others have
  answer_halt,      ///< say what it holds: the view is over
  deal_parts,       ///< give and take parts of the optimizer
  compare_weights,  ///< all of them, with the other members
  keep_last,        ///< write the last checkpoint: no more steps are taken
  finish,           ///< the job is done
  evaluate,
  train,
};

class ReplicaPhase {
 public:
  /// A view is to begin; its members greet each other.
  void enter() { phase_ = is_halted() ? Phase::entering : Phase::begun; }
  /// The view is in force. False: a record is being applied, and the view begins behind it.
  [[nodiscard]] bool begin() {
    phase_ = updating_ ? (is_entering() ? Phase::begun : Phase::running) : Phase::running;
    return !updating_;
  }
  /// The view is over.
  void halt() { phase_ = Phase::halted; }
  /// Outside of the view it is given what the members hold.
  void observe() { phase_ = is_halted() ? Phase::halted : Phase::running; }

  bool is_halted() const { return phase_ == Phase::halted || phase_ == Phase::entering; }
  /// From the assignment on, until what the view is to begin with is under way.
  bool is_entering() const { return phase_ == Phase::entering || phase_ == Phase::begun; }

  /// A record is taken, and is applied now.
  void record_taken() { updating_ = true; }
  void record_applied() { updating_ = false; }
  bool is_updating() const { return updating_; }

  /// What decides, beside the phase.
  struct Facts {
    bool observing = false;  ///< outside the view, given what its members hold
    bool behind = false;     ///< a member that misses records
    bool parts_dealt = false;
    bool comparison_due = false;
    bool last_view = false;
    bool job_finished = false;
    bool evaluates = false;
  };
  NextActivity next(const Facts& facts) const;

 private:
  enum class Phase { halted, entering, begun, running };
  Phase phase_ = Phase::halted;
  bool updating_ = false;
};

inline NextActivity ReplicaPhase::next(const Facts& facts) const {
  if (phase_ == Phase::entering) return NextActivity::rest;
  if (phase_ == Phase::begun) return NextActivity::go_on;
  if (facts.observing || (facts.behind && !is_halted())) return NextActivity::catch_up;
  if (is_halted()) return NextActivity::answer_halt;
  if (!facts.parts_dealt) return NextActivity::deal_parts;
  if (facts.comparison_due) return NextActivity::compare_weights;
  if (facts.last_view) return NextActivity::keep_last;
  if (facts.job_finished) return NextActivity::finish;
  return facts.evaluates ? NextActivity::evaluate : NextActivity::train;
}

}  // namespace muster
