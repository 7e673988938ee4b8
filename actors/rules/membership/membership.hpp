// The membership: which nodes a run is made of, and how far each has come. Pure rules of the coordinator:
// state and message in, decision and reason out.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/messages/report_messages.hpp"
#include "actors/messages/view_messages.hpp"
#include "actors/rules/membership/hangs.hpp"
#include "muster/job.hpp"

namespace muster {

/// `caught_up`: a newcomer whose state is a member's.
enum class NodeStage { expected, joined, prepared, caught_up, closed, installed, done, left, lost };

struct NodeRecord {
  NodeStage stage = NodeStage::expected;
  std::int64_t pid = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t launched = 0;  ///< as in Join
  std::string host;
  std::string address;  ///< as in Join
  std::string device;
  Prepared prepared;
  ReplicaDone done;
  bool member = false;          ///< of the view in force, or of the one that is being closed
  bool leaving = false;         ///< asked to go; no member of the next view
  bool held_back = false;       ///< but it is one, for it held a part of the optimiser that nobody else had
  bool announced = false;       ///< `joined` was raised
  std::uint64_t records = 0;    ///< as of its last Closed or CaughtUp
  std::uint64_t kept_from = 0;  ///< the oldest record that it can send
  std::chrono::milliseconds still{0};     ///< for how long the thread of its data plane does nothing
  std::uint32_t took = 0;                 ///< the latest view of which it has taken a record
  bool trained = false;                   ///< no round is left behind its records
  bool proven = false;                    ///< its bits were compared with those of others
  std::uint64_t clean = kCleanUntilView;  ///< as in Member
  std::uint32_t in_view = 0;              ///< the last one that it was told of
  std::uint32_t since = 0;                ///< a member: the view in which it became one
  std::uint64_t alone_from = 0;           ///< as in Member
  bool begun = false;                     ///< adopted in a view that is in force
  std::uint32_t fed_by = 0;               ///< the donor of its state, in view `fed_in` of that one
  std::uint32_t fed_in = 0;
  bool feed_again = false;     ///< in the same view
  bool gives_nothing = false;  ///< it hung while a newcomer waited for its state, and has done no step since
  std::set<std::uint32_t> holds_of;  ///< as in Member
  std::uint64_t last_step = 0, last_samples = 0;
  std::chrono::milliseconds hangs{0};  ///< one of its threads, as its last heartbeat says
  Work work;                           ///< a replica's, by its last heartbeat
  bool tried = true;                   ///< it and the others reach each other, as far as is known
  int preparing_ticks = 0;             ///< since it joined, until it is ready
  bool late = false;                   ///< it has had its time for that
};

inline bool gone(const NodeRecord& record) {
  return record.stage == NodeStage::left || record.stage == NodeStage::lost;
}

class Membership {
 public:
  /// Places for those that the job starts with. Numbers begin with these, where others were given before.
  explicit Membership(const Job& job, const FreeNumbers& first = {});

  /// The name under which the node takes part; or the reason of the refusal, which changes nothing.
  struct Admission {
    NodeName name;
    std::string refusal;
  };
  Admission join(const Join& join);

  /// A member of the last view of a coordinator that is gone; the reason if it is none, or if it does not fit
  /// to those that have come back; empty otherwise.
  std::string adopt(const Adopt& message);
  /// The view that a coordinator before this one sent last: its members are waited for, but for those that
  /// have come back.
  void entered_before(const View& view, const FreeNumbers& free);
  /// A member of that view that is waited for.
  bool expects(const NodeName& name, std::uint64_t incarnation) const;
  std::vector<NodeName> not_returned() const;
  bool some_replica_returned() const;
  /// A member whose connection had broken: what it knows of views.
  void returned(const Adopt& message);
  /// This very process is in the run.
  bool lives(const NodeName& name, std::uint64_t incarnation) const;
  /// A member gives it its state, or has given it: in the view in which that member is.
  bool is_fed(const NodeName& name) const;
  bool is_fed(const NodeName& name, std::uint32_t in_view) const {
    return at(name).fed_in == in_view && is_fed(name);
  }
  /// The newcomers that get, or got, their state from it in that view.
  std::vector<NodeName> fed_by(const NodeName& donor, std::uint32_t view) const;
  /// Newcomers that this one may have fed before: others do now, or they are gone.
  std::vector<NodeName> fed_by_others(const NodeName& donor) const;
  /// Those that have not said yet that they have it.
  std::vector<NodeName> starved_by(const NodeName& donor) const;
  const FreeNumbers& free_numbers() const { return free_; }
  /// Others were given, as a node says.
  void given(const FreeNumbers& free) { free_.beyond(free); }
  bool all_begun(std::uint32_t view) const;
  /// Before the first view: every place of the job is taken by one that is ready; or what is missing to go on
  /// with fewer, for people; empty if nothing is.
  bool full() const;
  std::string missing_to_begin() const;
  /// Of all replicas, or loaders, that are waited for before the first view: how many have come, and how many
  /// there are to be.
  std::pair<std::uint32_t, std::uint32_t> arrived(bool loader) const;
  /// Nobody is waited for any more who has not joined.
  void drop_expected();
  /// The latest view of which a member that is left has taken a record; where none is left, that in which
  /// newcomers were given the state.
  std::uint32_t took() const;
  /// What a member says of the replicas of its view (Member::clean); nothing, if this is another one.
  void compared(std::uint32_t view, const std::vector<std::uint64_t>& clean);
  /// The weights of all members have been compared as a whole: whoever was given a state has a vote of its
  /// own.
  void weights_compared() {
    for (auto& [name, record] : nodes_) {
      record.alone_from = 0;
      if (record.member && view_.holds(name)) record.holds_of.clear();  // no newcomer that closes with them
    }
  }
  std::uint32_t view_of(const NodeName& name) const { return nodes_.at(name).in_view; }

  /// The device of one that came by itself: what it asked for, or its host's cores in turn.
  std::string device_for(const Join& join) const;
  void placed(const NodeName& name, const std::string& device) { nodes_[name].device = device; }

  /// Each gives a reason if the run cannot go on with this (`prepared`: with this newcomer); empty otherwise.
  std::string prepared(const Prepared& message);
  /// That this replica computes other bits than another one for the probe gradient; empty if not. `prepared`
  /// refuses it for that, unless cluster.reproducible is "loose".
  std::string other_bits(const NodeName& who) const;
  /// Before the first view: those that do not fit the others, and why. Where as many are of one kind as of
  /// another one, those that came first stay.
  struct Unlike {
    NodeName who;
    std::string why;
  };
  std::vector<Unlike> unlike() const;
  /// "replica 1 on host2", for people.
  std::string name_at_host(const NodeName& who) const;
  /// Other weights than those of another replica are none where cluster.on_corruption is "report".
  std::string done(const ReplicaDone& message);
  void installed(const NodeName& name);
  void closed(const Closed& message);
  void caught_up(const CaughtUp& message);
  void leaving(const NodeName& name) { nodes_[name].leaving = true; }
  void heard(const Heartbeat& message);
  void lost(const NodeName& name) { nodes_[name].stage = NodeStage::lost; }
  /// Whether it is known that it and those of other hosts reach each other; a newcomer waits for that.
  void tried(const NodeName& name, bool tried) { nodes_[name].tried = tried; }
  /// The nodes of other hosts that are ready.
  std::vector<NodeName> ready_elsewhere(const NodeName& who) const;
  void left(const NodeName& name) { nodes_[name].stage = NodeStage::left; }
  void announced(const NodeName& name) { nodes_[name].announced = true; }

  /// Whether every member that is not lost, and has not left, stands at this stage. Before the first view
  /// every node that the job starts is waited for like a member.
  bool all(NodeStage stage, bool replicas_only = false) const;
  bool none_alive() const;
  /// Whether a member that was held back can go, once a step is done: another one stays in the view and has
  /// the parts now, or nobody stays at all.
  bool may_let_go() const;
  bool any_caught_up() const;
  /// No round is left behind what a member that is left holds.
  bool trained() const;
  /// All go back: what was said of the end counts no more.
  void begin_again();
  /// Whether a loader takes part, or is about to.
  bool any_loader() const;
  bool member(const NodeName& name) const;

  /// Newcomers that fit and have no state yet, and the member that may give them its own; none if there is
  /// none.
  std::vector<NodeName> hungry() const;
  void fed(const NodeName& name, const Member& donor);
  /// What it said of a view that is being closed came too late. If that stays the view, in a pause, it is fed
  /// again.
  void to_feed_again(const NodeName& name) { nodes_[name].feed_again = true; }
  std::optional<Member> donor() const;
  /// It hangs, and newcomers wait for its state: others are donors from now on. Whether that is new, and one
  /// of the others can be.
  bool gives_nothing(const NodeName& who);
  /// Newcomers that have no state yet, for people: "replica 4, replica 5".
  std::string without_state() const;
  /// How many newcomers have come as far as that, and stay.
  std::size_t newcomers(NodeStage stage) const;
  /// How the others reach this node.
  Member member_of(const NodeName& name) const;

  /// Who is to close the view: its members, and the newcomers that have caught up; they count as members
  /// from now on.
  std::vector<NodeName> begin_close();
  /// Those of them who have not closed it yet.
  std::vector<NodeName> not_closed() const;
  /// Members that have not been greeted by all others in the view that is being installed.
  std::vector<NodeName> not_installed() const;
  /// Whether its data plane has done nothing for as long as that since it was told to close or to install the
  /// view, as its node says.
  bool stands_still(const NodeName& name, std::chrono::milliseconds patience) const;
  /// The member that those, not none, wait for: one whose data plane stands still, else the last of them.
  NodeName holds_up(const std::vector<NodeName>& open, std::chrono::milliseconds patience) const;
  /// The replicas of the view one of whose threads has done nothing for so long, and its loaders whose data
  /// planes have; a loader's other thread is watched by those who wait for it.
  std::vector<NodeName> hanging(std::chrono::milliseconds stuck_after) const;
  /// Likewise, and replicas that have waited for so long for data that they read themselves.
  std::vector<NodeName> stalled(std::chrono::milliseconds stuck_after) const;
  /// Some have joined and are not ready; those of them who have had so many calls of `late_to_prepare` now.
  bool any_prepares() const;
  std::vector<NodeName> late_to_prepare(std::int64_t ticks);
  bool alive(const NodeName& name) const;

  /// The first stage on the way to a view that not all nodes have reached; `installed` if all have.
  NodeStage stage_behind() const;

  /// Nodes that are waited for and have not come as far as `stage`; the same for people: "replica 1, loader
  /// 0".
  std::vector<NodeName> all_behind(NodeStage stage) const;
  std::string behind(NodeStage stage) const;

  /// View 1: all replicas and loaders, shards dealt contiguously.
  View first_view() const;
  /// The view after `last`, when all who are left have closed that one: its shards dealt anew, its records
  /// the most that any of them holds, so that a step which one of them may have applied stands, and one that
  /// none has is done again. A newcomer is in it if the donor can send all that it misses; where no
  /// member is left, those that were given the whole state go on with it. No view, but what is missing, if
  /// the job needs more nodes.
  struct Next {
    std::optional<View> view;
    std::string missing;
    std::optional<PartHolder>
        lost;  ///< of a part of the optimiser: the view has yet to be told what to go back to
    std::vector<NodeName> unfit = {};  ///< without a view: who closed it and misses more than can be sent
  };
  Next next_view(const View& last) const;
  std::vector<NodeName> unfit_for(const View& view) const;
  /// Why the run cannot go on in a view without loader processes; empty if it can. Replicas may load for
  /// themselves (cluster.on_loader_loss).
  std::string misses_loader(const View& view) const;
  /// The same where no round is left, and only answers and checkpoints are owed: few are enough.
  Next trained_view(const View& last) const;
  /// The same of a run that is to end: all who are left, be they few, without a loader, or asked to leave.
  Next last_view(const View& last) const;
  /// Every replica of the view that is left has asked to leave.
  bool all_leave() const;
  /// The view that is being installed or is in force; for shards_of.
  void entered(const View& view);
  const NodeRecord& at(const NodeName& name) const { return nodes_.at(name); }
  const NodeRecord* find(const NodeName& name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? nullptr : &found->second;
  }
  const std::map<NodeName, NodeRecord>& nodes() const { return nodes_; }
  std::string shards_of(const NodeName& name) const;

 private:
  bool waited_for(const NodeRecord& record) const;
  std::uint32_t ready(bool loader) const;
  std::string missing_replicas(std::uint64_t here) const;
  std::string misfit(const NodeName& who) const;
  std::string differs(const NodeName& who, const NodeName& from) const;
  std::string why_other_weights(const Prepared& one, const Prepared& other) const;
  std::string differs_in_probe(const NodeName& who, const NodeName& from) const;
  std::vector<NodeName> ready_but(const NodeName& who) const;
  std::vector<NodeName> side_by_side(std::vector<NodeName> names) const;
  View make_view(std::uint32_t number, const std::vector<NodeName>& names) const;
  std::vector<NodeName> all_who_can_read() const;
  std::vector<NodeName> staying(std::uint64_t records, std::uint64_t kept_from,
                                const std::set<std::uint32_t>& held_back) const;
  std::vector<NodeName> who_hold_the_state(
      const std::function<bool(const NodeName&, const NodeRecord&)>& counts) const;
  std::vector<NodeName> newcomers_with_state() const;
  std::uint32_t best_donor(const std::vector<NodeName>& holders) const;
  std::uint32_t next_number(const View& last) const;
  std::set<std::uint32_t> replicas_left() const;
  /// Of the view or newcomers: who lives, and did not ask to leave.
  bool any_replica_stays() const;
  std::set<std::uint32_t> to_hold_back(const PartSource& source) const;
  void pair_up(View& view) const;

  std::uint32_t shards_;
  FreeNumbers free_;
  FreeNumbers places_;  // how many the job has
  std::uint32_t min_replicas_;
  bool strict_, may_differ_;
  bool needs_loader_, loads_here_;
  bool in_parts_, buddies_within_hosts_;
  std::uint64_t memory_bytes_;
  std::string start_from_;
  View view_;
  std::map<NodeName, NodeRecord> nodes_;
};

}  // namespace muster
