// The simulated side of a node's seams: executors that take a seeded time, and the production engine over the
// simulated network. Both belong to a process, and stand still with it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/node/node.hpp"
#include "tests/simulation/arrivals.hpp"
#include "tests/simulation/bits.hpp"
#include "tests/simulation/frozen_threads.hpp"
#include "tests/simulation/watch.hpp"
#include "tests/simulation/world.hpp"
#include "transport/simulated/network.hpp"

namespace muster::simulation {

/// How fast a process is; may change while it runs.
struct Pace {
  Nanoseconds compute_max{std::chrono::milliseconds(20)};  ///< a job on the compute executor takes up to this
  Nanoseconds loading_max{std::chrono::milliseconds(5)};   ///< the same for reading one micro-batch
  Nanoseconds disk_max{std::chrono::milliseconds(5)};      ///< for writing a checkpoint
  double slower = 1;                                       ///< all times this
};

/// Things that live as long as something of the cluster does; to see that all has gone at the end.
struct Alive {
  std::size_t engines = 0;
  std::size_t sends = 0;    ///< handed to a transport and not ended, of engines that live
  std::size_t batches = 0;  ///< the most micro-batches that one engine had in flight
};

/// The thread of a process that its data plane lives on.
inline constexpr const char* kProgressThread = "muster-progress";

struct SeamSetup {
  World* world = nullptr;
  SimulatedNetwork* network = nullptr;
  ProcessId process = kNobody;
  std::shared_ptr<Pace> pace;
  std::shared_ptr<FrozenThreads> frozen = std::make_shared<FrozenThreads>();
  Watch* watch = nullptr;  ///< may be null
  std::shared_ptr<Alive> alive;
  bool show_frames = true;
  bool gpus = false;                           ///< replicas compute on played GPUs (late_device.hpp)
  bool carries_gpu_memory = false;             ///< whose memory the network carries
  std::shared_ptr<Disk> disk;                  ///< where checkpoints are written; may be null
  std::shared_ptr<Disk> spare;                 ///< any other folder; may be null
  std::function<void(const NodeName&)> named;  ///< called when the node has its name; or empty
  std::function<replica_actor(caf::actor_system& system, ReplicaSetup setup)> spawn_replica;  ///< or empty
  /// Of a fake GPU: work was put on it. Set by the data plane, which then asks what has ended.
  std::shared_ptr<std::function<void()>> gpu_works = std::make_shared<std::function<void()>>();
  std::shared_ptr<Arrivals> arrivals = std::make_shared<Arrivals>();
  std::shared_ptr<WrongBits> bits = std::make_shared<WrongBits>();
  /// The trainer state of the process's replica, once it has one.
  std::shared_ptr<std::weak_ptr<TrainerState>> trainer = std::make_shared<std::weak_ptr<TrainerState>>();
};

/// Two hosts; replicas come to them in no order.
std::string simulated_host(const std::string& address);

NodeSeams simulated_seams(const SeamSetup& setup);

}  // namespace muster::simulation
