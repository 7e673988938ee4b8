// Failure and the end: who says that it cannot go on, that somebody holds up a step, that the run is over.
// Part of messages.hpp, which is the one to include and to read.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/messages/item.hpp"
#include "actors/messages/message.hpp"
#include "actors/messages/view.hpp"
#include "muster/events.hpp"

namespace muster {

/// The micro-batch at which an error came up: of one shard, at its step of an epoch.
struct ErrorPlace {
  std::uint32_t shard = 0;
  bool evaluates = false;
  std::uint64_t epoch = 0;  ///< from 1; 0: it came up elsewhere, and nothing else here holds
  std::uint64_t step = 0;   ///< within the epoch, from 1

  bool known() const { return epoch > 0; }
  std::string text() const {
    return "shard " + std::to_string(shard) + ", epoch " + std::to_string(epoch) + ", " +
           (evaluates ? "evaluation step " : "step ") + std::to_string(step) + " of it";
  }
  auto operator<=>(const ErrorPlace&) const = default;

  static auto fields(ErrorPlace& x) { return std::tie(x.shard, x.evaluates, x.epoch, x.step); }
};
MUSTER_MESSAGE(ErrorPlace)

inline ErrorPlace place_of(const Cursor& cursor, std::uint32_t shard) {
  return {shard, cursor.mode == Mode::evaluate, cursor.epoch, cursor.step + 1};
}

/// node -> coordinator: it cannot go on. If another node is to blame (its connection failed), `peer` names
/// it. Else the error is this node's own, and worth a view change (rules/membership/local_errors.hpp), unless
/// it `ends_run`.
struct Failing {
  NodeName name;
  std::uint32_t view = 0;
  bool peer_known = false;
  NodeName peer;
  std::string reason;
  /// What else there is to say of the end. All replicas may fail alike: those of the first one count.
  std::vector<Event> events = {};
  ErrorPlace at = {};
  bool ends_run = false;  ///< every replica finds the same: no view change helps

  static auto fields(Failing& x) {
    return std::tie(x.name, x.view, x.peer_known, x.peer, x.reason, x.events, x.at, x.ends_run);
  }
};
MUSTER_MESSAGE(Failing)

/// node -> coordinator: replica `slot` holds up a step for longer than cluster.straggler.patience, or its own
/// data does; or, with `loader`, loader `slot` does, for which the sender waits. Becomes the event `late`;
/// evicts only if the job says so, or if it is stuck.
struct HeldUp {
  NodeName name;  ///< who waits
  std::uint32_t view = 0;
  std::uint64_t round = 0;   ///< within the view; 0: it says so of itself
  std::uint64_t record = 0;  ///< that is being made, of the view, from 1
  std::uint64_t step = 0;
  std::uint32_t slot = 0;
  std::string cause;  ///< "data", "compute" or "link"
  std::string waited_for;
  double waited_ms = 0;
  bool stuck = false;        ///< its progress counter stands still for stuck_after
  bool link_broken = false;  ///< then there is a complaint, too
  bool ready = false;        ///< it has applied the step before, and could leave this one out
  bool loader = false;       ///< the late one is a loader

  NodeName late() const { return {loader, slot}; }
  static auto fields(HeldUp& x) {
    return std::tie(x.name, x.view, x.round, x.record, x.step, x.slot, x.cause, x.waited_for, x.waited_ms,
                    x.stuck, x.link_broken, x.ready, x.loader);
  }
};
MUSTER_MESSAGE(HeldUp)

/// launcher -> coordinator: a child process has ended. `launched` is the number that it was started with
/// (Join::launched): a pid is unique on one host only.
struct ChildEnded {
  NodeName name;
  std::int64_t pid = 0;
  std::uint64_t launched = 0;
  std::string how;

  static auto fields(ChildEnded& x) { return std::tie(x.name, x.pid, x.launched, x.how); }
};
MUSTER_MESSAGE(ChildEnded)

/// So begins the reason in Stop to one that counts as lost, and lives.
inline constexpr const char* kEvicted = "evicted: ";

/// coordinator -> node: the end. The node lets go of everything and terminates; within 300 ms its process is
/// ended by force.
struct Stop {
  bool good = false;  ///< after a completed run, or as it asked for
  std::string reason;
  bool again = false;  ///< it may join again: it was evicted
  bool keep = false;   ///< writes a checkpoint first, if checkpoint.folder is set; that may take its time
  /// Results of this step and later ones may be wrong: it leaves no checkpoint of them. 0: none are.
  std::uint64_t suspect_from = 0;

  static auto fields(Stop& x) { return std::tie(x.good, x.reason, x.again, x.keep, x.suspect_from); }
};
MUSTER_MESSAGE(Stop)

/// An actor to itself: look at the clock.
struct Tick {
  bool once = false;  ///< for one thing that was put off

  static auto fields(Tick& x) { return std::tie(x.once); }
};
MUSTER_MESSAGE(Tick)

}  // namespace muster
