// The coordinator: keeps the membership, makes the view, collects what is told, and ends the run. No step
// waits for it.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/coordinator/journal.hpp"
#include "actors/coordinator/states/checkpoints/attempt_verdicts.hpp"
#include "actors/coordinator/states/checkpoints/known_checkpoints.hpp"
#include "actors/coordinator/states/checkpoints/mount_wait.hpp"
#include "actors/coordinator/states/checkpoints/suspect_steps.hpp"
#include "actors/coordinator/states/coordinator_term.hpp"
#include "actors/coordinator/states/epoch_tally.hpp"
#include "actors/coordinator/states/next_view.hpp"
#include "actors/coordinator/states/pending_view.hpp"
#include "actors/coordinator/states/run_end.hpp"
#include "actors/coordinator/states/training_rate.hpp"
#include "actors/coordinator/states/waits/disk_wait.hpp"
#include "actors/coordinator/states/waits/gathering.hpp"
#include "actors/coordinator/states/waits/member_silence.hpp"
#include "actors/coordinator/states/waits/own_standstill.hpp"
#include "actors/coordinator/states/waits/phase_timers.hpp"
#include "actors/coordinator/states/waits/recovery_clock.hpp"
#include "actors/messages/messages.hpp"
#include "actors/resume/resume.hpp"
#include "actors/rules/membership/hangs.hpp"
#include "actors/rules/membership/local_errors.hpp"
#include "actors/rules/membership/membership.hpp"
#include "actors/rules/membership/reach.hpp"
#include "actors/rules/steps/corruption.hpp"
#include "actors/rules/steps/going_back.hpp"
#include "actors/rules/watch/cluster_watch.hpp"
#include "config/placement.hpp"
#include "muster/job.hpp"
#include "muster/report.hpp"

namespace muster {

class ProgressHistory;

struct CoordinatorSetup {
  Job job;
  std::string job_toml;
  Placement placement;
  std::vector<Event> first_events;  ///< raised at the start: notices
  std::string job_hash;             ///< of what fixes the mathematics
  /// What a coordinator must know after its death: kept before each view is installed. Null: not kept, and a
  /// coordinator that dies is not replaced.
  std::shared_ptr<Journal> journal;
  std::optional<Resume> resume;                 ///< the checkpoint to go on from
  std::shared_ptr<Disk> checkpoints = nullptr;  ///< checkpoint.folder; null: no job of this run writes any
  bool by_hand = false;     ///< nodes are started by hand: no deadline for the first of them
  std::string folder_mark;  ///< as in Welcome
  /// Called by the actor, on its thread; must not block. Any may be empty.
  std::function<void(const Event&)> on_event;
  std::function<void(const Progress&, const DataFacts&)> on_progress;
  /// Which steps are told of by the event `progress`; null: none. Used by the actor alone until its end.
  std::shared_ptr<ProgressHistory> progress = nullptr;
  std::function<void()> on_conclude;          ///< once: the outcome is known, and all are told to end
  std::function<void(const Report&)> on_end;  ///< once; only the journal's last entry is behind it
};

class CoordinatorState {
 public:
  static inline const char* name = "coordinator";
  using Self = coordinator_actor::stateful_pointer<CoordinatorState>;

  void start(Self self, CoordinatorSetup setup);
  void on(const Join& message);
  void on(const Prepared& message);
  void on(const Installed& message);
  void on(const Closed& message);
  void on(const CaughtUp& message);
  void on(const Leaving& message);
  void on(const Adopt& message);
  void on(const EpochEnd& message);
  void on(const ReplicaDone& message);
  void on(const Failing& message);
  void on(const ChildEnded& message);
  void on(const StopRequest& message);
  void on(const Tick& message);
  void on(const Heartbeat& message);
  void on(const HeldUp& message);
  void on(const Progress& message);
  void on(const Checkpointed& message);
  void on(const Raised& message);
  void on(const UnlikeBits& message);
  void on(const WentBack& message);
  void on(const Reached& message);
  caf::result<RunStatus> on(const StatusRequest& message);
  void raise(Event event);
  void report(const Event& event);
  void report_progress(const Progress& message);

 private:
  static constexpr std::chrono::milliseconds kTick{50};
  static constexpr int kTicksOfSlack = 4;
  static constexpr std::uint64_t kAllSteps =
      std::numeric_limits<std::uint64_t>::max();  // of last_before: any
  using Time = caf::actor_clock::time_point;

  std::chrono::nanoseconds elapsed() const;
  void skip_own_standstill();
  bool in_force() const {
    return !end_.decided() && !end_.keeps_state() && phase_ == CoordinatorPhase::running;
  }
  bool judge();
  bool judge_closing();
  bool judge_returns();
  void see(SelfDoubt::Sight sight);
  bool give_up_silence();
  bool lose_all_silent();
  bool judge_installing();
  std::chrono::milliseconds in_time(std::chrono::milliseconds usual, int share) const;
  std::string owed_by_hanging(const NodeName& who) const;
  bool any_works_but(const std::vector<NodeName>& stalled) const;
  bool reads_itself(const HeldUp& message) const;
  std::string what_it_does(const NodeName& who) const;
  void report_stalled(const NodeName& who, bool any_works);
  bool starves_newcomers(const NodeName& who);
  void ask_another_donor(const NodeName& hanging);
  bool judge_hanging();
  bool judge_stalled();
  void fail_for_stalled(const std::vector<NodeName>& stalled);
  bool ends_for_hanging(const NodeName& who, bool stuck);
  void lose_hanging(const NodeName& who, const std::string& noticed_by, bool stuck,
                    const std::string& reason);
  bool judge_loaders();
  bool judge_going_back(bool tick);
  bool wait_for_readers(bool tick);
  void go_back_further();
  void keep_no_damaged();
  bool follow(const ClusterWatch::Judgement& judgement);
  void node_down(const caf::actor_addr& address);
  void announce_view();
  void set_out();
  /// `again`: it may join again.
  void lost(const NodeName& name, const std::string& noticed_by, const std::string& reason,
            bool again = true);
  void local_error(const Failing& message);
  Suspects suspects_in(const UnlikeBits& message) const;
  std::set<std::uint32_t> sources_of(std::uint32_t slot, const std::vector<std::uint32_t>& asked) const;
  std::uint64_t first_in_doubt(const UnlikeBits& message, const Judgement& judgement) const;
  std::string advice_of(const UnlikeBits& message) const;
  bool ends_with(const Judgement& judgement) const;
  std::string what_follows(const UnlikeBits& message, const Judgement& judgement, std::uint64_t from) const;
  void suspect(std::uint64_t from, bool ends);
  void keep_no_suspect();
  void suspect_what_is_doubted(bool ends);
  void note_suspects();
  void set_suspects_aside(std::uint64_t from);
  std::string mark_suspects() const;
  void mark_suspects_again();
  void remember_verdicts();
  void remember_going_back();
  void abandon_after(std::uint64_t step, std::uint32_t view);
  void begin_history();
  void go_back_before_suspects(const View& view, const Checkpointed& good);
  void report_kept_suspects(std::uint64_t from);
  std::string why_suspected() const;
  std::uint64_t steps_done() const;
  void forget_after(const View& view);
  std::vector<Event> corrupt_events(const UnlikeBits& message, const Judgement& judgement) const;
  void evict_corrupt(const UnlikeBits& message, const std::vector<std::uint32_t>& odd);
  bool goes_on_without(const NodeName& name) const;
  bool comes_later(const NodeName& name) const;
  void pulse();
  void raise_late();
  void report_late_to_prepare();
  void refuse(const node_actor& node, const NodeName& name, const std::string& reason, bool again = false);
  void admit(const Join& message, const node_actor& actor);
  void admit_callers();
  void ask_for_ports(const NodeName& who);
  std::string why_not_reached(const NodeName& from, const NotReached& closed) const;
  bool any_reaches(const NodeName& loader, const NodeName& not_this_one);
  void refuse_unreached(const NodeName& who, const std::string& reason);
  void place_is_free(const NodeName& who);
  void take_in_reached(std::chrono::milliseconds passed = {});
  void is_ready(const NodeName& who);
  bool refuse_unlike();
  void form();
  void lost_before_begin(const NodeName& name, const std::string& reason, bool again);
  bool begin_with_those_here();
  bool unknown_members_may_come() const {
    return phase_ == CoordinatorPhase::forming && gathering_.waits_for_unknown_members();
  }
  void wait_no_longer();
  void look_into_journal();
  void note_beginning(bool nodes_may_live);
  View beginning() const;
  void expect_resume(const View& view) const;
  static std::string why_resume(const View& view);
  void wait_for_members(const View& view, const FreeNumbers& free);
  void taken_over(const std::string& reason);
  void report_resumed();
  bool begin_anew();
  void try_to_begin_anew();
  bool learn_from(const Adopt& message);
  void go_on_with(const View& view);
  void returned(const Adopt& message, const node_actor& actor);
  void returned_early(const Adopt& message, const node_actor& actor);
  void some_were_here();
  void adopted_all();
  void none_came_back();
  void report_completed(const JournalEntry& entry);
  void note(const View& view, bool ended = false);
  void feed_newcomers();
  void newcomer_ready(const NodeName& who);
  void end_donation(const NodeName& who);
  void turn_away(const NodeName& who, const std::string& reason, bool again);
  void close_view();
  void ask_to_close();
  void next_view();
  void make_view(const NextView& next);
  bool ends_without_loader();
  bool waits_for_folder(const View& view, bool parts_lost);
  void wait_for_mounts(bool by_all, const std::vector<std::uint32_t>& slots = {});
  void make_again_at(const View& view, Time when);
  void fail_without_folder(const std::string& why);
  void give_up_lost_parts(const View& view, const PartHolder& lost);
  void install(const View& view);
  bool noted(const View& view);
  void journal_refused(const View& view, const std::string& reason);
  bool note_what_it_lacks();
  void refuse_equal() const;
  bool is_outdated(const View& view) const;
  void note_again();
  void give_up_journal();
  void let_leavers_go();
  NextView what_follows_view() const;
  bool keep_state(const std::string& outcome, const std::string& reason);
  bool begin_keeping(const std::string& outcome, const std::string& reason);
  void last_view();
  void state_kept(const Checkpointed& message);
  void not_kept(const std::string& reason);
  void end_as_asked();
  void pause(const std::string& missing);
  void end_without_members(const std::string& missing);
  void report_first_step(const Progress& message);
  void let_go_of_held_back();
  void count_epoch(std::uint64_t epoch, bool all_reported = false);
  void fail(const std::string& reason);
  void conclude(const std::string& outcome, const std::string& reason);
  void complete();
  void give_up();
  void last_note(bool ended);
  bool all_know() const;
  bool may_be_found_again(const std::string& outcome) const;
  void sum_up();
  void takes_effect();
  bool is_going_back() const;
  void fail_of(const std::exception_ptr& thrown);
  void finish();
  RunStatus status() const;
  struct Heard {
    std::uint64_t steps, samples;
  };
  Heard heard_of() const;
  std::pair<std::string, std::string> how_it_stands() const;
  void notify_end_waiters();
  void add_where(Event& event) const;
  std::string whom_it_waits_for() const;
  void report_arrived(const NodeName& who);

  coordinator_actor::pointer self_ = nullptr;
  CoordinatorSetup setup_;
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<ClusterWatch> watch_;
  std::unique_ptr<KnownCheckpoints> checkpoints_;
  std::map<NodeName, node_actor> actors_;
  std::set<NodeName> away_;  // whose connection has ended, and who may come back
  EpochTally epochs_;
  View view_;
  // A view is made when none is in force: forming (the first), adopting (a coordinator that was started anew
  // waits for the members of the last one), closing (all say what they hold), paused (nodes are missing),
  // noting (the journal's disk takes nothing), installing (all greet each other).
  enum class CoordinatorPhase { forming, adopting, closing, paused, noting, installing, running };
  CoordinatorPhase phase_ = CoordinatorPhase::forming;
  CoordinatorTerm term_;
  std::uint32_t first_view_ = 1;  // its number; a run that begins anew gives none twice
  std::vector<NodeName> lost_;    // not to be waited for in the view that is being closed
  // Who wait for the end; each at most once.
  std::vector<std::pair<caf::actor_addr, caf::typed_response_promise<RunStatus>>> end_waiters_;
  TrainingRate training_;
  RecoveryClock recovery_;
  Report report_;
  Time pulse_at_{}, began_{};
  OwnStandstill standstill_;
  bool begun_ = false;  // a first view was in force
  PhaseTimers timers_{kTick};
  LocalErrors errors_;
  Hangs hangs_;
  ReachWatch reach_;
  bool close_again_ = false;  // losses are to be told to those who close
  struct Caller {
    Join join;
    node_actor actor;
  };
  std::vector<Caller> callers_;  // newcomers, until the members are back that they are compared with
  Gathering gathering_{kTick};
  MemberSilence silence_;
  Time in_force_since_{};  // the view that is
  PendingView pending_;
  std::set<std::pair<std::uint32_t, NodeName>> hangs_said_;  // view, and who hangs and cannot be spared
  SuspectSteps suspects_;
  AttemptVerdicts verdicts_;
  std::uint32_t back_in_ = 0;  // the last view that went back
  GoingBack going_back_;       // what members of the view say of its checkpoint
  DiskWait folder_wait_;       // the folder of checkpoints is away
  bool goes_further_ = false;  // nobody could read that of this view; what is older is to be seen
  MountWait mounts_;
  RunEnd end_;
  bool took_effect_ = false;  // a member has done a step in the view
};

coordinator_actor::behavior_type coordinator(CoordinatorState::Self self, CoordinatorSetup setup);

}  // namespace muster
