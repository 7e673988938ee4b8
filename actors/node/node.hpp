// A node: one process (or one in-process replica). It joins the coordinator, makes what works here
// (executors, data plane, loader, shards, replica, reducer), and ends it again. It passes on what they have
// to tell.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "actors/data_plane/data_plane.hpp"
#include "actors/data_plane/executor.hpp"
#include "actors/messages/messages.hpp"
#include "actors/node/node_loading.hpp"
#include "actors/node/plane/plane_hooks.hpp"
#include "actors/node/states/awake_clock.hpp"
#include "actors/node/states/coordinator_link.hpp"
#include "actors/node/states/own_activity.hpp"
#include "actors/node/states/own_reports.hpp"
#include "actors/node/states/own_view.hpp"
#include "actors/replica/replica.hpp"
#include "actors/rules/nodes/own_standstill.hpp"
#include "actors/rules/steps/round_schedule.hpp"
#include "actors/rules/watch/loader_watch.hpp"
#include "actors/rules/watch/stall_watch.hpp"
#include "gpu/compute_device.hpp"
#include "muster/job.hpp"
#include "muster/registry.hpp"

namespace muster {

/// What differs between a real process and the simulator. Everything else is the same code.
struct NodeSeams {
  /// `device` is "cpu:K", or "-" for a thread that is bound to none.
  std::function<std::shared_ptr<Executor>(const std::string& name, const std::string& device)> make_executor;
  /// `device`: what the node computes on; "-" on a loader.
  std::function<std::shared_ptr<DataPlane>(const Job& job, const NodeName& name, const std::string& device,
                                           Engine::Hooks hooks)>
      make_data_plane;
  /// The folder of checkpoints; empty: the one on this machine.
  std::function<std::shared_ptr<Disk>(const std::string& folder)> open_disk;
  /// What a replica computes on, by the name of its device.
  std::function<std::shared_ptr<ComputeDevice>(const std::string& name, const DeviceMemory& memory)>
      make_device = make_compute_device;
  /// Asked on the compute thread before a node says that it is ready: throws Error if the model or a source
  /// does not keep its contract here. Empty: that is known. `computes`: it has the model; `loads`: it reads
  /// the data.
  std::function<void(const Job& job, const Registry& registry, bool computes, bool loads)> check_contract;
  /// Looks for the coordinator's mark in checkpoint.folder, on another thread: `done` is handed what people
  /// should know, or nothing. Empty: nobody looks.
  std::function<void(const Job& job, const std::string& mark, std::function<void(std::string)> done)>
      look_for_mark;
  /// Dials the ports of these, and hands over those that do not answer, on another thread, within
  /// kDialPatience. `own`: this node's address. Empty: nothing is between the nodes.
  std::function<void(const std::string& own, const std::vector<Member>& peers,
                     std::function<void(std::vector<NotReached>)> done)>
      dial_ports;
  /// What stands in a replica's place; empty: a replica. For benches of the reducer.
  std::function<replica_actor(caf::actor_system& system, ReplicaSetup setup)> spawn_replica;
};

/// Threads pinned to their cores, and the transports of node_transport.hpp. `address`: what this node is
/// reached by; empty: cluster.listen.
NodeSeams real_seams(const std::string& address = {});

struct NodeSetup {
  NodeName name;  ///< that it was launched for; one that `joins` is told its number
  std::int64_t pid = 0;
  std::uint64_t incarnation = 0;  ///< differs between any two starts
  bool joins = false;             ///< comes by itself, at any time
  std::string device;             ///< asked for, by one that joins; empty: the coordinator chooses
  std::uint64_t launched = 0;     ///< number that its launcher gave this start; 0: it has no launcher
  std::string own_address;        ///< of this machine, on the way to the coordinator; for people
  std::string host;               ///< of this process; for people
  std::uint32_t cores = 1;        ///< that this process may use
  /// What a process must know of its node; called on the actor's thread, must not block. Any may be empty.
  /// The connection to the coordinator has ended; the job looks for it for so long. Without this function the
  /// node ends with it.
  std::function<void(std::chrono::milliseconds)> on_orphaned;
  std::function<void()> drop_connection;  ///< to the coordinator; then it ends as if the network had
  std::function<void(const Stop&)> on_stop;
  std::function<void(const std::string&)> on_notice;  ///< for people who look at this process
  Registry registry;
  NodeSeams seams;
  coordinator_actor coordinator;
};

/// Of a node in this process, on this machine.
NodeSetup setup_here();

class NodeState {
 public:
  static inline const char* name = "node";
  using Self = node_actor::stateful_pointer<NodeState>;
  using Time = std::chrono::steady_clock::time_point;

  /// However a node ends, what works in it ends, too.
  ~NodeState() { let_go(); }

  void start(Self self, NodeSetup setup);
  void on(const Welcome& message);
  void on(const Ready& message);
  void on(const Install& message);
  void on(const RoundDone& message);
  void on(const Begin& message);
  void on(const Close& message);
  void on(const Halted& message);
  void on(const Stalled& message);
  void on(const Starved& message);
  void on(const Observe& message);
  void on(const Donate& message);
  void on(const CaughtUp& message);
  void on(const Leaving& message);
  void on(const Pulse& message);
  void on(const NewCoordinator& message);
  void on(const Adopted& message);
  void on(const Trouble& message);
  void on(const Failing& message);
  void on(const Stop& message);
  void on(const Tick& message);
  void on(const StateKept& message);
  void on(const AuditShardRequest& message);
  void on(const UnlikeBits& message);
  void on(const WentBack& message);
  void on(const Compared& message);
  void on(const Reach& message);

  /// What the coordinator is told as it is. Of progress, only as much as it may read.
  template <class Message>
  void pass_on(const Message& message) {
    if constexpr (std::is_same_v<Message, Progress>) {
      if (reports_.holds_back(message)) return;
    }
    self_->send(setup_.coordinator, message);
  }

 private:
  void make_replica(const View& view);
  void install_replica(const View& view);
  void install_loader(const View& view);
  void install_engine(const View& view, const std::vector<Member>& peers, const ReductionShape* shape);
  void look_for_coordinator();
  void ask_to_be_adopted();
  void watch();
  void run_backup_tasks(const RoundSight& sight);
  void raise_notice(const std::string& text);
  void notice(const std::string& text) const;
  void let_go();

  node_actor::pointer self_ = nullptr;
  NodeSetup setup_;
  std::optional<Job> job_;
  Join join_;
  Prepared prepared_;
  CoordinatorLink link_;
  OwnStandstill standstill_;
  OwnReports reports_;
  OwnView own_;
  std::optional<Stop> stopping_;  // once its state is kept

  std::shared_ptr<ProgressBoard> progress_ = std::make_shared<ProgressBoard>();
  OwnActivity activity_;
  std::optional<AwakeClock> awake_;  // of this node's own thread; the engine has one of its own
  std::optional<StallWatch> stalls_;
  std::optional<LoaderWatch> loader_watch_;

  std::shared_ptr<Executor> compute_, reading_;
  std::shared_ptr<DataPlane> plane_;
  std::shared_ptr<PlaneBoard> board_;
  std::shared_ptr<TrainerState> trainer_;
  std::shared_ptr<const Snapshot> resumed_;
  std::optional<NodeLoading> loading_;  // once it is ready
  replica_actor replica_;
  reducer_actor reducer_;
  std::shared_ptr<Checkpointer> checkpointer_;  // the replica's
};

node_actor::behavior_type node(NodeState::Self self, NodeSetup setup);

}  // namespace muster
