// What the coordinator makes of heartbeats, complaints and reports of lateness: a pure rule that puts
// suspicion, complaints and shedding together. It says who is lost, what is to be told, and when shards move.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "actors/messages/end_messages.hpp"
#include "actors/messages/report_messages.hpp"
#include "actors/messages/view.hpp"
#include "actors/rules/stragglers/repeated_lateness.hpp"
#include "actors/rules/stragglers/shedding.hpp"
#include "actors/rules/stragglers/wait_for_graph.hpp"
#include "actors/rules/watch/complaints.hpp"
#include "actors/rules/watch/self_doubt.hpp"
#include "actors/rules/watch/suspicion.hpp"
#include "muster/job.hpp"

namespace muster {

class ClusterWatch {
 public:
  using Time = std::chrono::nanoseconds;

  /// `tick`: how often `judge` will be called.
  ClusterWatch(const ClusterConfig& cluster, Time tick);

  /// It has come: silence counts from now on, also before its first heartbeat.
  void came(const NodeName& name, Time now) {
    suspicion_.heard(name, now);
    if (!judged_) judged_ = now;
  }
  void heard(const Heartbeat& message, Time now);
  /// A complaint about a peer, of the view in force.
  void complained(const Failing& message, Time now);
  /// It was not told of the view in force, and so sends nothing in it: complaints about it are forgotten.
  void missed_view(const NodeName& name) { complaints_.forget(name); }

  /// A view that is to be installed, with its shards dealt by speed if the job sheds.
  View dealt(View view) const;
  /// The view that is watched from now on.
  void entered(const View& view);
  /// A view is in force, or was: from now on silence counts after one patience.
  void begun() { begun_ = true; }

  /// late: for longer than cluster.straggler.patience; stuck: it has done nothing for
  /// cluster.straggler.stuck_after.
  enum class Pace { unknown, late, stuck };
  struct Loss {
    NodeName name;
    std::string noticed_by;
    std::string reason;
    Pace pace = Pace::unknown;                         ///< for what it is lost, if it is alive
    std::optional<NodeName> broken_to = std::nullopt;  ///< the other end of a link that is broken
  };
  struct Judgement {
    std::vector<Event> events;
    std::vector<Loss> losses;
    bool drops = false;  ///< the step is to go on without the replica, in a new view: see dropping()
    SelfDoubt::Sight sight = SelfDoubt::Sight::clear;  ///< unless it is, nothing is to be decided for silence
  };
  /// `alive`: who takes part still; all others are forgotten.
  Judgement judge(const std::function<bool(const NodeName&)>& alive, Time now);

  /// Whether it was heard a moment ago: if its connection ends now, its kernel has closed it, and it is gone.
  /// After a silence, or a time in which this coordinator stood still, the connection may have ended for
  /// that.
  bool in_touch(const NodeName& name, Time now) const;
  /// Whether members may lack messages of this coordinator: what they owe is not judged.
  bool in_doubt(Time now) const { return doubt_.in_doubt(now); }
  /// What is missing while the sight is not clear, for people.
  std::string missing() const;

  /// A replica holds up a step. The first report of each lateness becomes an event; it becomes a loss if the
  /// replica is stuck, or the job says so, and others wait for it and are enough without it. A late loader
  /// process is not held against the replica that it serves. If the job drops, a training step goes on
  /// without the replica; but not twice, and not without more than half of the replicas.
  /// Who is late in the view that follows is waited for: each step has one view change for it.
  /// A late one is evicted when the same node says it again, in this step or a few later, of the same fault;
  /// for a slow link ("link") only if it does not wait for another one itself. A loader process is lost by
  /// itself: if it is stuck, or if the job evicts, it is said again, and another one is left. `spares`:
  /// newcomers that could take its place at once.
  Judgement held_up(const HeldUp& message, Time now, std::size_t spares = 0);

  /// What every view from now on carries: its first round is that step, unless some member has the record of
  /// it.
  const Dropping& dropping() const { return dropping_; }
  /// All go back to this record, of all views: who was late behind the step that follows is late no more.
  void went_back(std::uint64_t record) {
    if (dropping_.record > record + 1) dropping_ = {};
  }

  /// Whether shards should move now, and why. Only if the job sheds.
  std::optional<Shedding::Move> shed();

 private:
  Time least_silence() const;
  bool stands_still(Time now) const;
  bool has_stood_still(Time now) const;
  std::vector<Party> parties() const;
  SelfDoubt::Sight look(Time now);
  Event late_event(const HeldUp& message, const Member& late) const;
  Event late_event(const HeldUp& message) const;
  Judgement loader_held_up(const HeldUp& message, Time now);
  std::string cause_of(const HeldUp& message) const;
  RepeatedLateness::Fault fault_of(const HeldUp& message) const;
  bool is_to_blame(const HeldUp& message, Time now);
  bool drop(const HeldUp& message, const Member& late);
  bool may_lack_its_loader(const HeldUp& message, std::uint64_t record) const;

  ClusterConfig cluster_;
  Time standstill_;  // not to have judged for longer
  Suspicion suspicion_;
  SelfDoubt doubt_;
  std::optional<Time> judged_, stood_still_;  // when it judged last; when it went on after a standstill
  ComplaintBook complaints_;
  std::map<NodeName, std::chrono::milliseconds> still_;  // as the last heartbeat says: Heartbeat::still_ms
  Shedding shedding_;
  WaitForGraph waits_;
  RepeatedLateness repeated_;
  View view_;
  bool begun_ = false;
  std::set<std::tuple<std::uint64_t, NodeName, std::string, bool>> said_;  // step, who, cause, stuck
  Dropping dropping_;                     // over views: the last step that went on without some,
  std::set<std::uint32_t> dropped_from_;  // and who was too late for it,
  std::set<NodeName> dropped_for_;        // by which loaders,
  std::uint32_t dropped_in_ = 0;          // in which view
};

}  // namespace muster
