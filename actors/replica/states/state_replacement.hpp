// A view that goes back to a checkpoint: a replica's state is replaced by the checkpoint's, which the compute
// thread does, unless the view ends before it has begun. For one thread at a time, but for the Ticket.
#pragma once

#include <atomic>
#include <memory>

namespace muster {

class StateReplacement {
 public:
  /// Shared with the compute thread: either that begins, or the replica gives up, and the other one learns.
  class Ticket {
   public:
    /// The compute thread: false, if the replica has given up.
    [[nodiscard]] bool begin() { return turn_to(State::begun); }
    /// The replica: false, if the compute thread has begun.
    [[nodiscard]] bool give_up() { return turn_to(State::given_up); }

   private:
    enum class State { waits, begun, given_up };
    bool turn_to(State next) {
      State waits = State::waits;
      return state_.compare_exchange_strong(waits, next);
    }
    std::atomic<State> state_{State::waits};
  };

  /// A view begins. `back`: the state is to be replaced before anything else.
  void enter(bool back) {
    ticket_.reset();
    wanted_ = back;
  }
  /// What the replica holds is not the view's state yet.
  bool wanted() const { return wanted_; }
  /// The state is in place, by this or another way.
  void in_place() { wanted_ = false; }
  /// A replacement is asked for.
  std::shared_ptr<Ticket> ask() { return ticket_ = std::make_shared<Ticket>(); }
  /// The one that was asked for has been done or has failed, or is of no use any more.
  void end() { ticket_.reset(); }
  /// The view is over. True: the state is being replaced at this moment, and `end` will follow. Else it stays
  /// as it is.
  bool goes_on() {
    if (!ticket_) return false;
    if (!ticket_->give_up()) return true;
    ticket_.reset();
    return false;
  }

 private:
  bool wanted_ = false;
  std::shared_ptr<Ticket> ticket_;
};

}  // namespace muster
