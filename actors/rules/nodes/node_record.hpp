// What the coordinator knows of one node, by subject.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "actors/messages/report_messages.hpp"
#include "actors/messages/view_messages.hpp"
#include "actors/rules/nodes/work.hpp"

namespace muster {

/// `caught_up`: a newcomer whose state is a member's.
enum class NodeStage { expected, joined, prepared, caught_up, closed, installed, done, left, lost };

/// The process of a node, and where it runs.
struct NodeProcess {
  std::int64_t pid = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t launched = 0;  ///< as in Join
  std::string host;
  std::string address;  ///< as in Join
  std::string device;
};

/// From its start until it can take part.
struct Preparation {
  bool tried = true;  ///< it and the others reach each other, as far as is known
  int ticks = 0;      ///< since it joined, until it is ready
  bool late = false;  ///< it has had its time for that
};

/// The views that a node has been told of.
struct KnownView {
  std::uint32_t number = 0;  ///< of the last one
  std::uint32_t since = 0;   ///< a member: the view in which it became one
  bool begun = false;        ///< adopted in a view that is in force
};

/// What a replica holds of the run, as of its last Closed or CaughtUp.
struct HeldRecords {
  std::uint64_t records = 0;
  std::uint64_t kept_from = 0;  ///< the oldest record that it can send
  std::uint32_t took = 0;       ///< the latest view of which it has taken a record
  bool trained = false;         ///< no round is left behind its records
};

/// How far the bits of a replica were compared with those of others.
struct ComparedBits {
  bool proven = false;
  std::uint64_t clean = kCleanUntilView;  ///< as in Member
  std::uint64_t alone_from = 0;           ///< as in Member
  std::set<std::uint32_t> holds_of;       ///< as in Member

  /// It is given a state by this replica.
  void given_by(std::uint32_t slot) {
    holds_of = {slot};
    proven = false;
  }
};

/// Of a newcomer: who gives it its state.
struct StateSource {
  std::uint32_t donor = 0;
  std::uint32_t view = 0;  ///< the donor's, when it began; 0: nobody has yet
  bool again = false;      ///< the donor begins again, in the same view
};

/// What the last heartbeat of a node says.
struct LastHeartbeat {
  std::uint64_t step = 0;     ///< lower than in the one before, if all have gone back
  std::uint64_t samples = 0;  ///< in all steps up to that
  Work work;                  ///< a replica's
  /// For how long one of its threads does nothing.
  std::chrono::milliseconds hangs{0};
  /// For how long the thread of its data plane does nothing: the most since a view was closed or installed.
  std::chrono::milliseconds still{0};

  void heard(const Heartbeat& message);
  void view_entered() {
    still = hangs = {};
    work = {};
  }
};

struct NodeRecord {
  NodeStage stage = NodeStage::expected;
  NodeProcess process;
  Preparation preparation;
  Prepared prepared;
  ReplicaDone done;
  bool member = false;     ///< of the view in force, or of the one that is being closed
  bool leaving = false;    ///< asked to go; no member of the next view
  bool held_back = false;  ///< but it is one, for it held a part of the optimizer that nobody else had
  bool announced = false;  ///< `joined` was raised
  KnownView view;
  HeldRecords held;
  ComparedBits bits;
  LastHeartbeat last;
  StateSource source;
  bool passed_over = false;  ///< it hung while a newcomer waited for its state, and has done no step since
};

inline bool gone(const NodeRecord& record) {
  return record.stage == NodeStage::left || record.stage == NodeStage::lost;
}
/// It has joined, and is not gone.
inline bool alive(const NodeRecord& record) {
  return record.stage != NodeStage::expected && !gone(record);
}
/// A newcomer that closes the view with its members is one.
inline bool is_member(const NodeRecord& record) {
  return record.member && !gone(record);
}
inline bool is_ready(const NodeRecord& record) {
  return record.stage >= NodeStage::prepared && !gone(record);
}

}  // namespace muster
