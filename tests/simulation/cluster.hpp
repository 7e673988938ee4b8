// A whole run in one thread and in virtual time: the production actors and rules, a process for each node and
// one for the coordinator, the simulated network between their data planes, and control links between the
// coordinator and the nodes. One seed, one sequence of events.
//
// What faults are made of is here: processes that die, stop or slow down, come and go; ways that are blocked
// or clogged; a coordinator that is started anew.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/coordinator/coordinator.hpp"
#include "muster/registry.hpp"
#include "muster/report.hpp"
#include "tests/simulation/control_link.hpp"
#include "tests/simulation/memory_journal.hpp"
#include "tests/simulation/planted_errors.hpp"
#include "tests/simulation/seams.hpp"
#include "tests/support/mounted_disk.hpp"

namespace muster::simulation {

struct ClusterOptions {
  std::uint64_t seed = 1;
  Pace pace;               ///< of every process at first
  Nanoseconds lag_max{0};  ///< see World::set_lag; of every node
  /// Nodes come by themselves, as with `muster join`: they outlive the coordinator, and join again when they
  /// were evicted. The coordinator keeps a journal. Else all are launched, and end with the coordinator.
  bool by_hand = false;
  /// By hand: the run fails if nobody comes for long, as with `muster coordinate`.
  bool start_is_bounded = false;
  /// By hand: so long after the coordinator the first nodes come, replicas before loaders; less than 0:
  /// never. Those that are missing here come at once.
  std::vector<Nanoseconds> come_after;
  /// Launched: the coordinator is told how each process has ended, as with `muster run`.
  bool reaps = false;
  bool gpus = false;                      ///< replicas compute on played GPUs; for model linear
  bool carries_gpu_memory = false;        ///< whose memory the network carries
  std::shared_ptr<Disk> disk;             ///< where checkpoints are written; null: the job must ask for none
  std::shared_ptr<Disk> spare = nullptr;  ///< where the last one goes if `disk` takes none; null: the same
  bool resume = false;                    ///< go on from the newest checkpoint; throws NothingToResume
  SimulatedNetworkOptions network;
  ControlOptions control;
  bool show_frames = true;  ///< to the watch; costs much where there are many
  /// What stands in a replica's place; empty: a replica.
  std::function<replica_actor(caf::actor_system& system, ReplicaSetup setup)> spawn_replica = nullptr;
};

/// What is wrong with a process that comes by itself.
struct Oddity {
  bool unlike = false;           ///< its weights begin an ulp beside those of the others
  bool no_data = false;          ///< it cannot open the data
  std::string walled_from = {};  ///< nothing goes between it and that node of another host
};

class Cluster {
 public:
  static inline const std::string kCoordinator = "coordinator";

  /// `watch` may be null; it outlives the cluster.
  Cluster(const Job& job, const Registry& registry, const ClusterOptions& options, Watch* watch);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Starts the coordinator and all nodes of the job.
  void start();
  /// One thing happens; false if nothing is left to happen.
  bool step() { return world_->step(); }
  World& world() { return *world_; }
  /// Set when the coordinator has sent its last report.
  const std::optional<Report>& report() const { return report_; }
  /// The coordinator died behind its last write to the journal: nobody starts it again.
  bool ended_unseen() const { return ended_unseen_; }

  bool has_gpus() const { return options_.gpus; }

  // ---- what can go wrong. Names are "replica 1", "loader 0", "coordinator"; of the gone: no call.
  /// The process is killed. `told`: its kernel says so; else its machine is gone, too.
  void crash(const std::string& name, bool told);
  /// The launcher tells the coordinator that the child has ended.
  void reap(const std::string& name);
  void pause(const std::string& name);
  /// Every node and the coordinator; nothing that was killed is started again before they wake.
  void suspend();
  void wake();
  void resume(const std::string& name);
  /// What is done to ways from now on is of this fault: when it is mended, that of others stays.
  void on_behalf_of(std::uint64_t fault) { fault_ = fault; }
  void disturb_data(const std::string& from, const std::string& to, const Disturbance& disturbance);
  void disturb_control(const std::string& from, const std::string& to, const Disturbance& disturbance);
  /// Their data connection breaks; both live.
  void sever(const std::string& a, const std::string& b);
  void set_slower(const std::string& name, double factor);
  /// What the process meets by itself; null: there is none of the name.
  std::shared_ptr<PlantedErrors> errors_of(const std::string& name);
  CursedBatch& cursed() { return *cursed_; }
  SpoiledBatch& spoiled() { return *spoiled_; }
  /// Greetings do not arrive there any more.
  void deafen(const std::string& name);
  /// Each frame that comes from there comes twice, or once again.
  void repeat_frames(const std::string& at, const std::string& from, bool twice);
  /// A bit of the next one flips on its way.
  void damage_frame(const std::string& at, const std::string& from, std::uint64_t bit);
  /// Nothing can be read any more where it looks for checkpoints.
  void blind(const std::string& name, bool is_blind = true);
  /// Whether processes can reach the folder of checkpoints.
  void set_disk_away(Away from_nodes, Away from_coordinator) {
    *away_from_nodes_ = from_nodes;
    *away_from_coordinator_ = from_coordinator;
  }
  /// How long the coordinator's calls of that folder take; 0: they are answered at once.
  void set_folder_slow(Nanoseconds takes) { *folder_takes_ = takes; }
  bool disk_is_away_from_coordinator() const { return *away_from_coordinator_ != Away::no; }
  /// An error, and no empty folder, which may be another host's.
  bool coordinator_disk_refuses() const {
    return disk_is_away_from_coordinator() && *away_from_coordinator_ != Away::unmounted;
  }
  /// One thread of the process stands still ("muster-load", "muster-progress"); the others run.
  void freeze(const std::string& name, const std::string& thread);
  void thaw(const std::string& name, const std::string& thread);
  bool stands_still(const std::string& name, const std::string& thread) const;
  /// SIGTERM: the node hands its shards over and goes.
  void ask_to_leave(const std::string& name);
  /// SIGTERM to the launcher, or to `muster coordinate`.
  void ask_to_end();
  /// When the next record of a step has come to it.
  void flip_bit(const std::string& name, WrongBits::Flip what, std::uint64_t chosen);
  /// Its gradients are other ones from now on; by so much that rounding does not hide it, or by an ulp.
  void make_odd(const std::string& name, bool by_much, bool at_times = false);
  const std::shared_ptr<Disk>& disk() const { return options_.disk; }
  const Registry& registry() const { return registry_; }
  /// A new process comes by itself.
  void join(bool loader);
  /// A replica with other weights, which must never be let in.
  void join_unlike();
  void join_without_data();
  /// A replica that comes by itself: nothing goes between it and that one, if they are on two hosts.
  void join_walled_from(const std::string& name);
  /// All that comes to it, and to those that come after it, comes twice.
  void join_hearing_twice();
  /// The coordinator's process is killed, and started anew some time later. Only by hand. `told`: as of
  /// `crash`.
  void crash_coordinator(bool told = true);
  /// Another one begins with the journal of the one that lives, and takes its place for all who look for a
  /// coordinator. The one before keeps its connections, but for that with `cut_off`.
  void start_second_coordinator(const std::string& cut_off);
  void cut_usurped_from(const std::string& node, bool cut);
  /// The way between the coordinator's machine and a node; `cut_from_all` also holds for those to come.
  void disturb_coordinator(const std::string& node, const Disturbance& disturbance);
  void cut_coordinator_from_all(bool cut);
  void set_coordinator_back_after(Nanoseconds delay) { coordinator_back_after_ = delay; }
  /// All processes are killed at once; with `power` what no disk had synced is lost, too.
  void kill_all(bool power);
  bool all_killed() const { return all_killed_; }
  bool power_lost() const { return power_lost_; }
  /// A person starts one again that has given up, for want of a message from anybody.
  void start_again_after_silence() { starts_again_after_silence_ = true; }
  JournalDisk& journal() { return *journal_; }
  bool by_hand() const { return options_.by_hand; }
  bool start_is_bounded() const { return options_.by_hand && options_.start_is_bounded; }
  /// The coordinator is told within this time how the process of this name has ended.
  bool was_reaped_within(const std::string& name, Nanoseconds time) const;
  bool coordinator_alive() const { return world_->alive(coordinator_process_); }
  bool cut_from_coordinator(ProcessId process) const {
    return control_->blocked(process, coordinator_process_);
  }
  bool usurped(ProcessId process) const { return process == usurped_process_; }
  bool two_coordinators() const { return usurped_process_ != kNobody; }
  /// The second one has written to the journal, too.
  bool has_been_taken_over() const {
    return two_coordinators() && journal_->entry && journal_->entry->term > term_before_usurper_;
  }
  bool coordinator_reachable() const { return coordinator_alive() && coordinator_cuts_.empty(); }

  // ---- looking
  std::vector<std::string> nodes() const;  ///< every node that was ever started, in that order
  bool alive(const std::string& name) const;
  bool unlike(const std::string& name) const;
  bool without_data(const std::string& name) const;
  /// Whom nothing reaches it from, and its messages do not reach; empty: nobody.
  std::string walled_from(const std::string& name) const;
  bool is_blind(const std::string& name) const;
  std::size_t nodes_alive() const;
  const ControlNet& control() const { return *control_; }
  SimulatedCounts frames() const { return network_->counts(); }
  const Alive& things() const { return *things_; }

  /// The coordinator's process ends, as it does after its last report; nobody comes any more.
  void end_coordinator();
  /// Ends everything at once, and says what is still there that should have gone; empty: nothing.
  std::string tear_down();

 private:
  // One life of a node's process: from joining to its end.
  struct NodeProcess {
    std::string name;
    NodeName node;
    ProcessId process = kNobody;
    node_actor actor;
    bool joins = false;
    bool attached = false;    // to the network, under its name
    Nanoseconds back_off{0};  // before it joins again
    std::shared_ptr<Pace> pace;
    std::shared_ptr<FrozenThreads> frozen = std::make_shared<FrozenThreads>();
    std::shared_ptr<std::weak_ptr<TrainerState>> trainer;
    std::shared_ptr<WrongBits> bits = std::make_shared<WrongBits>();
    std::shared_ptr<Stop> stop = std::make_shared<Stop>();
    std::optional<Nanoseconds> orphan_since;
    Nanoseconds orphan_after{0};
    std::uint64_t number = 0;  // of its start
    std::int64_t pid = 0;      // on its host: another host's process has it, too
    std::shared_ptr<PlantedErrors> errors;
    std::shared_ptr<Arrivals> arrivals = std::make_shared<Arrivals>();
    std::shared_ptr<bool> blind = std::make_shared<bool>(false);
    std::string walled_from;
    std::optional<Nanoseconds> reaped_after;  // its end; none: the coordinator need not be told of it
    bool reaped = false;                      // it was
  };

  class Paths {
   public:
    Disturbance set(const std::string& from, const std::string& to, std::uint64_t fault,
                    const Disturbance& disturbance);

   private:
    std::map<std::pair<std::string, std::string>, std::map<std::uint64_t, Disturbance>> paths_;
  };

  static caf::actor_system_config& configured(caf::actor_system_config& config);
  void start_coordinator();
  void coordinator_ended(ProcessId process, const Report& report);
  void end_process(ProcessId process, const coordinator_actor& actor, bool told);
  void when_awake(std::function<void()> action);
  void start_again(ProcessId process);
  void start_after_silence(ProcessId process);
  void end_usurped();
  void reinstate();
  void start_node(const NodeName& name, bool joins, Nanoseconds back_off, const Oddity& oddity = {});
  SeamSetup seams_of(const NodeProcess& started);
  NodeSetup setup_of(const NodeProcess& started, const caf::strong_actor_ptr& link);
  void named(ProcessId process, const NodeName& name);
  void build_wall(const NodeProcess& who);
  void cut_off_by_its_new_name(const std::string& node);
  void look_for_coordinator(ProcessId process);
  void node_ended(ProcessId process);
  void reap_soon(NodeProcess& who, const std::string& how);
  void told_of_end(NodeProcess& who, const std::string& how);
  NodeProcess* find(const std::string& name);
  const NodeProcess* find(const std::string& name) const;
  NodeProcess& at(ProcessId process);
  std::shared_ptr<Disk> mounted(std::shared_ptr<const bool> blind, std::shared_ptr<const Away> away) const;

  const Job job_;
  Registry registry_;
  std::shared_ptr<const Registry> shared_registry_;  // the same
  ClusterOptions options_;
  Watch* watch_;
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::unique_ptr<World> world_;
  std::unique_ptr<SimulatedNetwork> network_;
  std::unique_ptr<ControlNet> control_;
  std::shared_ptr<Alive> things_ = std::make_shared<Alive>();
  std::shared_ptr<Away> away_from_nodes_ = std::make_shared<Away>(Away::no);
  std::shared_ptr<Nanoseconds> folder_takes_ = std::make_shared<Nanoseconds>(0);
  std::shared_ptr<Away> away_from_coordinator_ = std::make_shared<Away>(Away::no);
  std::shared_ptr<JournalDisk> journal_ = std::make_shared<JournalDisk>();
  coordinator_actor coordinator_;
  ProcessId coordinator_process_ = kNobody;
  coordinator_actor usurped_;  // lives on beside the one that took its place
  ProcessId usurped_process_ = kNobody;
  std::uint64_t writes_before_usurper_ = 0, term_before_usurper_ = 0;
  bool second_leads_ = false;  // a view of it is in force
  std::vector<ProcessId> paused_coordinators_;
  bool suspended_ = false;
  std::vector<std::function<void()>> on_wake_;
  Nanoseconds coordinator_back_after_{std::chrono::seconds(1)};
  std::set<std::uint64_t> coordinator_cuts_;  // faults that cut it from everybody
  std::uint64_t fault_ = 0;
  Paths data_paths_, control_paths_;
  std::vector<NodeProcess> nodes_;
  std::shared_ptr<CursedBatch> cursed_ = std::make_shared<CursedBatch>();
  std::shared_ptr<SpoiledBatch> spoiled_ = std::make_shared<SpoiledBatch>();
  std::optional<Report> report_;
  bool over_ = false;
  bool newcomers_hear_twice_ = false;
  bool ended_unseen_ = false;
  bool starts_again_after_silence_ = false;
  bool all_killed_ = false, power_lost_ = false;
};

}  // namespace muster::simulation
