// Looks on at a cluster and checks every invariant of the design that can be seen there: what an event
// touched after each event, all of it at each view and at the end. The first thing that is wrong stays.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/checkpoint_check.hpp"
#include "tests/simulation/cluster.hpp"
#include "tests/simulation/end_rules.hpp"
#include "tests/simulation/faults.hpp"
#include "tests/simulation/invariant_rules.hpp"
#include "tests/simulation/tally.hpp"
#include "tests/simulation/watch.hpp"

namespace muster::simulation {

/// What every run must keep, by number (`muster-sim --list`).
const std::map<int, std::string>& invariant_list();

/// The replica or loader that an event is about.
std::string node_of(const Event& event);

class Invariants final : public Watch {
 public:
  /// `retrain` is the oracle for what steps went on without; called when that is decided.
  using Retrain = std::function<OracleResult(const LeftOut&)>;
  Invariants(const Job& job, Retrain retrain, Tally& tally);

  /// The cluster that it looks at; before anything happens.
  void look_at(Cluster& cluster) { cluster_ = &cluster; }
  /// A fault that may cost this node its place has begun: to be evicted is no mistake from now on.
  void excuse(const std::string& node) { excused_.insert(node); }
  /// A fault has begun or ended; progress is owed from here.
  void disturbed() { progress_at_ = now(); }
  void fault_begun(const Fault& fault);
  /// The link between the coordinator and these is cut.
  void cut_from_coordinator(const std::set<std::string>& who);
  /// Nobody can reach the disk of the checkpoints for this time.
  void disk_away(Nanoseconds lasts) { folder_away_.begins(now(), lasts); }
  /// The disk of the journal is full for this time.
  void journal_full(Nanoseconds lasts) { journal_full_.begins(now(), lasts); }

  /// Progress: while no fault lasts, something must happen within `patience` of virtual time.
  void expect_progress(Nanoseconds patience);
  /// This node was asked to leave, by a signal.
  void asked_to_go(ProcessId process) override {
    asked_to_go_.emplace(process, now());
    held_when_asked_.emplace(process, seen(process).replica.steps_applied());
  }
  void expect_leavers_gone();
  /// Nothing more is expected: nodes have gone before the first view, and only a person can start others.
  bool over() const { return over_; }
  void expect_good_end(const Report& report);
  void expect_kept(const Report& report);
  void expect_kept_before_it(const Report& report);
  bool may_keep_nothing(const std::string& reason) const;
  bool all_have_left_alone() const;
  bool may_have_done_nothing() const;
  void keeps_nothing();
  bool none_holds_the_state() const;
  bool a_part_may_be_lost() const;
  void expect_left_in_time();
  /// Before the wrong results of a replica.
  bool told_that_all_go_back() const { return told_back_; }
  /// The coordinator has said that one is on the disk.
  bool told_of_checkpoint() const { return !told_at_.empty(); }
  void expect_all_ended();
  /// Each whole checkpoint on the disk is the oracle's at its step.
  void expect_last_checkpoint(const std::vector<std::shared_ptr<Disk>>& disks, const Registry& registry);
  void expect_checkpoints(std::shared_ptr<Disk> disk, const Registry& registry);
  void expect_nothing_abandoned(Disk& disk, const Registry& registry);
  void expect_kept_by_orphans(Disk& disk, const Registry& registry);
  void expect_nothing_left(const std::string& left);
  void say(Wrong wrong);

  const Wrong& wrong() const { return wrong_; }
  /// Nobody could find out that bits are wrong: the result is not the oracle's.
  bool bits_lost() const { return bits_lost_; }
  /// Likewise, and what is on the disk may hold them: they came after the last verdict, or it has not taken
  /// that.
  bool wrong_bits_may_stay() const {
    return suspects_stay_ || (bits_lost_ && (lost_since_verdict_ || odd_at_times_));
  }
  /// The weights before a step that was not finite; none: empty.
  const std::string& kept_file() const { return kept_file_; }
  /// The step of the newest checkpoint that must be there, where that is known.
  std::optional<std::uint64_t> newest_durable() const;
  std::uint64_t commits() const { return commits_; }

  void process_began(ProcessId process, const NodeName& name, std::uint64_t incarnation) override;
  void process_named(ProcessId process, const NodeName& name) override {
    seen(process).name = name;
    seen(process).named = true;
  }
  void record(ProcessId process, std::uint32_t view, const RoundRecord& record) override;
  void transferred(ProcessId process) override;
  void view_entered(ProcessId process, std::uint32_t view) override;
  void view_closed(ProcessId process, std::uint32_t view) override;
  void applied(ProcessId process, std::uint64_t step, std::span<const float> state) override;
  void sending(ProcessId process, const Frame& frame, std::span<const std::byte> payload,
               std::uint64_t number) override;
  void send_ended(ProcessId process, std::uint64_t number, bool ok) override;
  void placed(ProcessId process, const Frame& frame, std::span<std::byte> place) override;
  void taken(ProcessId process, const Frame& frame, std::span<std::byte> payload) override;
  void arrived_in_place(ProcessId, const Frame&) override {
    tally_.count("frame: read where its sender has it");
  }
  void revoked(ProcessId process, const Frame& frame) override {
    tally_.count("frame: taken back before it was read");
    seen(process).frames.revoked(frame);
  }
  void dropped(ProcessId process, const Frame& frame) override;
  void sent(ProcessId from, ProcessId to, const caf::message& message) override;
  void delivered(ProcessId from, ProcessId to, const caf::message& message) override;
  void event(const Event& event) override;
  void flipped(ProcessId process) override;
  void computes_odd(ProcessId process, bool at_times) override;
  void keeps_alone(ProcessId process) override;
  void mistake(const std::string& what) override;

 private:
  struct Seen {
    NodeName name;
    bool named = false;  ///< else it has joined by itself, and has not been given its name
    std::uint64_t incarnation = 0;
    ReplicaRule replica;
    FrameRule frames;
    std::uint32_t installed = 0;  ///< the last view that it was told of
    std::uint32_t observed = 0;   ///< the last one that it was told to observe
    std::uint32_t fed_in = 0;     ///< the last one in which a member was told to give it the state
    bool observes = false;        ///< has been told to
    bool half_a_state = false;    ///< a piece of one has come, and not all of it
  };

  Nanoseconds now() const { return cluster_->world().now(); }
  Seen& seen(ProcessId process) { return seen_.at(process); }
  void say(ProcessId process, Wrong wrong);
  void observes(ProcessId process);
  void lost(const Event& event);
  void lose_bits();
  bool all_tainted() const;
  std::set<std::string> givers_of(const std::string& who) const;
  bool odd_one_was_alone(const std::string& evicted) const;
  bool goes_back_yet(ProcessId process, std::uint64_t step, std::span<const float> state);
  std::optional<bool> is_right(std::uint64_t step, std::span<const float> state) const;
  void found_again(const View& view);
  void restarted();
  void corrupt(const Event& event);
  void expect_marked(const Event& event);
  void suspects_noted(const std::string& text);
  void expect_nothing_to_go_back_to(std::uint64_t before);
  void told_of(ProcessId coordinator, const Checkpointed& entry);
  std::optional<std::uint64_t> newest_reported() const;
  bool leader_knows_of(std::uint64_t step) const;
  bool leader_sees_folder() const;
  bool taint(ProcessId process);
  bool is_member(ProcessId process) const;
  bool newcomers_hold_the_state() const;
  void forget_who_misses_too_much();
  void taint_newcomer(ProcessId process, std::uint64_t step, std::span<const float> state);
  bool may_have_wrong_bits(const std::string& who);
  void gave(const std::string& donor, const std::string& to);
  bool alone(ProcessId process);
  std::vector<ProcessId> members_of(std::uint32_t view) const;
  bool record_of_wrong_bits(ProcessId process, std::uint32_t view, const RoundRecord& record);
  void expect_no_record_with_tainted(ProcessId process, std::uint32_t view);
  bool differs_by_wrong_bits(std::uint32_t view, std::uint32_t before);
  void expect_odd_found(std::uint32_t view, const RoundRecord& record);
  bool stopped_by_wrong_bits(const Report& report);
  bool excused(const std::string& who, const std::string& reason);
  bool may_not_read(const std::string& who) const;
  std::uint32_t members_that_cannot_read() const;
  bool fails_by_errors(const Report& report) const;
  bool may_fail_before_the_first_view(const std::string& reason) const;
  bool fails_without_journal(const Report& report) const;
  void expect_nobody_came(const Report& report);
  void expect_were_waited_for(const Report& report);
  void expect_none_stays(const Report& report);
  std::uint32_t newcomers_wait() const;
  bool nobody_can_give_the_state() const;
  bool an_encoder_keeps_it(const std::string& reason) const;
  bool fails_for_hanging(const Report& report) const;
  bool all_stand_still() const;
  bool may_have_made_late(const std::string& who) const;
  void expect_one_end(const std::string& reason);
  void expect_disk_refuses(const std::string& text);
  std::uint32_t members_left(const std::string& kind) const;
  void joined(const std::string& who);
  void expect_alike(const View& view, const std::string& who);
  void expect_no_wall(const std::string& who);
  std::uint32_t without_excuse() const;
  bool all_blind() const;
  bool is_pruned_unseen() const;
  bool none_looks_for_it() const;
  void expect_no_denial(const std::string& reason);
  // A run waits for it as long as for a member, and then goes on without those who cannot read.
  bool disk_was_away_for_long() const { return folder_away_.longest(now()) >= job_.cluster.give_up_after; }
  bool journal_was_full_for_long() const {
    return journal_full_.longest(now()) >= job_.cluster.give_up_after;
  }
  std::size_t minds() const;
  bool only_the_coordinator_died() const;
  bool all_told_to_end() const;
  void expect_unheard_are_left_alone(ProcessId member, const Stop& stop);
  bool any_to_compare_with() const;
  bool waits_to_begin() const;
  bool too_few_to_begin() const;
  void said_by_usurped(const caf::message& message);
  void made(const View& view);
  bool is_given_again(const View& view) const;
  void count_view(const View& view);
  void count_parts(const View& view);
  void follow_decision(ProcessId process, std::uint32_t view, std::uint64_t index, const RoundRecord& record);
  std::uint64_t incarnation_of(std::uint32_t view, PeerId peer) const;
  void turned_away(const std::string& who);
  void expect_newcomers_fed();
  void began_attempt(const View& view);
  void expect_keeps_all(const Event& event);
  void expect_counts_on_no_abandoned(const Pulse& pulse);
  bool is_of_this_attempt(std::uint64_t step) const;
  bool is_excused(const WrongCheckpoint& checkpoint);

  const Job job_;
  const Retrain retrain_;
  LeftOut left_out_;
  OracleResult oracle_;
  Tally& tally_;
  Cluster* cluster_ = nullptr;
  std::map<ProcessId, Seen> seen_;
  ViewRule views_;
  MajorityRule majority_;
  std::set<std::string> excused_;
  std::set<std::string> lost_, lost_before_restart_;
  std::set<std::string> joined_second_;  // of two coordinators: they never came to the first
  Nanoseconds restarted_at_{0};          // the coordinator, the last time
  std::set<ProcessId> stood_still_;      // from before that until it was, or was soon to be, given up
  std::map<std::uint64_t, std::pair<std::uint32_t, std::uint64_t>> record_hashes_;  // by index; and its view
  bool is_alone_on_gpu(std::uint32_t view) const;
  std::uint64_t commits_ = 0, commits_before_ = 0;  // and before the last view was in force
  std::uint64_t faults_ = 0;                        // that have begun
  std::set<std::string> touched_;                   // by one of them, if it was short
  std::set<std::string> frozen_;                    // one of their threads stood still, or their disk
  std::map<std::string, std::set<std::string>> computes_at_;  // who was in the model's code at a micro-batch
  std::set<std::set<std::string>> links_lost_;                // in this view: their ends
  Nanoseconds worked_at_{0};                                  // a member of the last view took a record
  Outage folder_away_{std::chrono::seconds(20)}, journal_full_{std::chrono::seconds(5)};
  FailedPlaces failed_at_;
  // As the run may say, when it says that it keeps nothing.
  bool no_step_was_done_ = false, none_held_the_state_ = false, a_part_was_lost_ = false,
       was_too_early_ = false;
  std::uint64_t least_suspect_ = ~std::uint64_t{0};  // the first step of all that may be wrong
  // Likewise, of a verdict when the coordinator did not see the folder.
  std::optional<std::uint64_t> blind_from_;
  std::uint64_t accepted_from_ =
      ~std::uint64_t{0};       // the run has said that it goes on with these all the same
  std::uint32_t closing_ = 0;  // the view that is being closed; 0: none
  std::uint32_t begun_ = 0;    // the last view that was in force
  std::set<std::string> joined_, left_, leaving_;
  Nanoseconds asked_to_leave_at_{0};                    // the last of them
  std::map<std::string, Nanoseconds> welcomed_;         // since when
  Nanoseconds node_came_at_{0};                         // the last one, to the coordinator
  std::map<ProcessId, std::uint64_t> held_when_asked_;  // steps: it may do more while it is let go
  std::map<ProcessId, Nanoseconds> asked_to_go_;        // since then, or since the coordinator was last heard
  bool paused_ = false;                                 // for want of nodes, as the coordinator has said
  Nanoseconds paused_at_{0};                            // then, since when
  bool unheard_ = false;                                // for want of a message from the nodes
  std::map<ProcessId, Nanoseconds> heard_at_;           // by a coordinator: the last message of a node
  bool ends_ = false;                                   // as the coordinator has said
  std::optional<Nanoseconds> told_to_end_at_;           // by a signal to it
  bool over_ = false;
  std::set<ProcessId> back_;  // who has come back to the last coordinator
  std::set<ProcessId> told_to_end_;
  std::set<ProcessId> given_the_state_;             // newcomers that are to close this view with its members
  std::map<std::string, std::uint64_t> kept_from_;  // the oldest record that a member can send, as it closed
  std::uint32_t replicas_at_error_ = 0, loaders_at_error_ = 0;  // members, when one had an error of its own
  bool adopting_ = false;  // a coordinator that was started anew waits for members
  bool in_force_ = false;  // a view is, and is not being closed
  // Wrong bits; see invariants_bits.cpp.
  bool flips_ = false, bits_lost_ = false;
  bool lost_since_verdict_ = false;  // since it was told last that all go back
  std::string kept_file_;
  std::set<ProcessId> flipped_;
  std::set<std::string> given_wrong_;                    // who was given a state, or records, with wrong bits
  std::map<std::string, std::set<std::string>> fed_by_;  // newcomers: by whom, as these were told
  std::uint64_t older_journals_ = 0;                     // that a coordinator has found
  std::map<ProcessId, std::uint64_t> tainted_;           // its weights are wrong from this record on
  // Steps behind which they may be wrong, and not compared yet; and whose.
  std::map<std::uint64_t, std::set<ProcessId>> flipped_at_;
  std::set<ProcessId> orphans_;          // that were told to end with what they hold
  std::set<ProcessId> branched_off_;     // lost with a step that the others have done without some shards
  std::set<ProcessId> gave_up_looking_;  // found no coordinator any more
  // Steps that such replicas held.
  std::uint64_t orphans_held_ = 0;
  std::set<std::uint64_t> checked_;  // steps whose checkpoint the coordinator was told of
  std::optional<ProcessId> odd_;
  bool odd_at_times_ = false;
  std::uint64_t lost_at_ = 0;  // records up to this one have the oracle's bits, though bits are lost
  // Likewise, before all went back for another reason: nobody knew, and checkpoints from then may stay.
  std::optional<std::uint64_t> once_lost_at_;
  // By the history that began when parts were lost: to which step all went back. What was done behind it
  // before that counts no more.
  std::map<std::uint64_t, std::uint64_t> went_back_;
  // The newest checkpoint that was told of since all went back, in this view; or that they went back to.
  std::optional<std::uint64_t> counts_to_;
  std::uint32_t back_view_ = 0;
  // By step of a checkpoint: when a coordinator was told of it; when the one that leads now was. It hears at
  // once what comes at one moment, and acts on one message after the other.
  std::map<std::uint64_t, Nanoseconds> told_at_, told_leader_at_;
  bool leader_saw_folder_ = false;  // with a checkpoint in it: it looks at its start, and with each message
  bool leader_was_restarted_ = false;
  // Of the durable ones, when a coordinator decided first to go back: a journal may take the view much later.
  std::optional<std::uint64_t> newest_at_verdict_;
  std::string last_named_;  // by a run that has completed
  bool must_go_back_ = false;
  bool suspects_stay_ = false;  // wrong checkpoints, on a disk that refuses to rename them, as was said
  bool told_ = false;           // that the bits are lost
  bool told_back_ = false;      // that all go back
  std::map<ProcessId, std::uint64_t> to_go_back_;  // to this step, from a later one
  std::set<std::uint64_t> odd_steps_;
  Nanoseconds progress_at_{0};
  Wrong wrong_;
};

}  // namespace muster::simulation
