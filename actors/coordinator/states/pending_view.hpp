// What is decided and not done yet, for a disk refuses it: a view, or the end of a first one that is void,
// that the journal lacks; or a view that is made anew when the folder of checkpoints can be read, or when
// replicas look into it again. Pure. For one thread at a time.
#pragma once

#include <chrono>
#include <optional>

#include "actors/coordinator/states/waits/disk_wait.hpp"
#include "actors/messages/view.hpp"

namespace muster {

class PendingView {
 public:
  using Duration = DiskWait::Duration;
  using Time = DiskWait::Time;

  /// The journal's disk refuses it. How long to wait for the next try; 0: the disk has had its time.
  Duration refuse(const View& view, Time now, Duration give_up);
  /// It is to be made anew then.
  void make_at(const View& view, Time when);
  /// The journal's disk has taken a view.
  void noted() { journal_.end(); }
  /// No view is to be made of those who were there.
  void drop() { pending_.reset(); }
  /// Time in which nobody could try does not count.
  void stood_still(Duration gap, Time now) { journal_.stood_still(gap, now); }

  /// Only while one is pending.
  const View& view() const { return pending_->view; }
  /// The journal's disk refuses, and is not to be tried now.
  bool refused_until_later(Time now) const { return journal_.waits() && pending_ && now < pending_->again; }
  /// The journal's disk has had its time.
  bool is_over() const { return journal_.waits() && pending_ && pending_->was_last; }

  enum class Due {
    nothing,
    lacking,  ///< note what the journal lacks: members come back
    make,     ///< make it anew
    install,  ///< note it, and install it, unless it is outdated
    give_up,  ///< the journal could not be written in time
  };
  struct Waiting {
    bool for_view = false;     ///< a view is to be noted
    bool for_members = false;  ///< the journal is behind, and nobody is back before it is not
    bool anew = false;         ///< the first view is void, and another one tries to say so
  };
  /// Called at each tick.
  Due due(const Waiting& waiting, Time now) const;

 private:
  struct Pending {
    View view;
    Time again;
    bool was_last = false;  // the disk has had its time
    bool made = true;       // or is to be made
  };
  std::optional<Pending> pending_;
  DiskWait journal_;
};

}  // namespace muster
