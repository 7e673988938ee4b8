// Who is told what happens in a run, outside of it: functions and observers of the user's. None of them can
// hold it up.
#pragma once

#include <memory>
#include <vector>

#include "actors/processes/signals.hpp"
#include "actors/run/event_feed.hpp"
#include "actors/run/observer_feed.hpp"
#include "muster/run.hpp"

namespace muster {

class RunListeners {
 public:
  /// `keep`: told of each event, as the user's function is, on a thread of its own; may be empty.
  RunListeners(const RunOptions& options, EventFeed::OnEvent keep);

  /// Who hears what observers ask for.
  void answer_to(const coordinator_actor& coordinator);

  void report(const Event& event);
  void report(const Progress& progress, const DataFacts& facts) { functions_.push(progress, facts); }

  /// After the run's end: waits for functions and disks that are slow; not for observers. A signal ends the
  /// process then.
  void finish(Signals& signals);

 private:
  static void wait_for(EventFeed& feed, const char* why, Signals& signals);

  EventFeed functions_, keeper_;
  std::vector<std::unique_ptr<ObserverFeed>> observers_;
};

}  // namespace muster
