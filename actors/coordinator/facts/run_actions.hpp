// What the parts of the coordinator ask of each other: changes of who takes part, and the end of the run. The
// coordinator forwards each to the part that does it. A test puts its own in their place.
#pragma once

#include <string>

#include "actors/messages/view.hpp"

namespace muster {

class ViewActions {
 public:
  virtual ~ViewActions() = default;
  /// The node counts as lost: the view is closed, or the run fails. `again`: it may join again.
  virtual void lost(const NodeName& who, const std::string& noticed_by, const std::string& reason,
                    bool again = true) = 0;
  /// A newcomer that cannot take part. `again`: it may try again.
  virtual void turn_away(const NodeName& who, const std::string& reason, bool again) = 0;
  /// Newcomers that have no state yet get it from a member.
  virtual void feed_newcomers() = 0;

  /// All members say what they hold; the next view follows.
  virtual void close_view() = 0;
  /// All have closed the view: the next one is made, or the run is paused.
  virtual void next_view() = 0;
  /// Writes the view into the journal, and sends it to its members.
  virtual void install(const View& view) = 0;
  /// All members of the view are back at a coordinator that was started again.
  virtual void go_on() = 0;
};

class EndActions {
 public:
  virtual ~EndActions() = default;
  virtual void fail(const std::string& reason) = 0;
  /// The run is to end so, once a member has written a last checkpoint. False: there is nothing to keep, or
  /// no place for it; then nothing was done.
  virtual bool keep_state(const std::string& outcome, const std::string& reason) = 0;
  /// The same, where the caller makes the last view.
  virtual bool begin_keeping(const std::string& outcome, const std::string& reason) = 0;
  /// All who are left come to one record, and one of them writes a checkpoint.
  virtual void last_view() = 0;
  /// The outcome is decided: all nodes are told.
  virtual void conclude(const std::string& outcome, const std::string& reason) = 0;
  /// The run is over.
  virtual void finish() = 0;
};

}  // namespace muster
