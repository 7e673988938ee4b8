#include "tests/simulation/seams.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "actors/rules/membership/reach.hpp"
#include "tests/simulation/planted_errors.hpp"
#include "tests/simulation/spy_transport.hpp"
#include "tests/support/late_device.hpp"

namespace muster::simulation {

namespace {

// Jobs one after the other, each after a seeded time of virtual work.
class SimulatedExecutor final : public Executor {
 public:
  SimulatedExecutor(SeamSetup setup, std::string thread, Nanoseconds Pace::*most)
      : setup_(std::move(setup)), thread_(std::move(thread)), most_(most) {}

  void submit(std::function<void()> job) override {
    queue_->push_back(std::move(job));
    if (queue_->size() == 1) schedule();
  }

 private:
  using Queue = std::deque<std::function<void()>>;

  void schedule() {
    const Pace& pace = *setup_.pace;
    const Nanoseconds time = setup_.world->up_to(pace.*most_);
    const Nanoseconds slowed(static_cast<std::int64_t>(static_cast<double>(time.count()) * pace.slower));
    setup_.world->after(setup_.process, slowed, [this, alive = std::weak_ptr<Queue>(queue_)] {
      if (alive.lock()) run_first(alive);
    });
  }

  void run_first(const std::weak_ptr<Queue>& alive) {
    const auto again = [this, alive] {
      if (alive.lock()) run_first(alive);
    };
    const auto queue = alive.lock();
    if (queue->empty() || setup_.frozen->holds(thread_, again)) return;
    try {
      queue->front()();
    } catch (const DoesNotReturn& call) {
      return stay_in(call);
    }
    if (const auto trainer = setup_.trainer->lock(); trainer && setup_.watch) {
      trainer->device->synchronize();
      setup_.watch->applied(setup_.process, trainer->applied, trainer->state.span());
    }
    queue->pop_front();
    if (!queue->empty()) schedule();
  }

  // What was thrown has left the call.
  void stay_in(const DoesNotReturn& call) {
    setup_.frozen->freeze(thread_);
    const auto trainer = setup_.trainer->lock();
    if (!trainer) return;
    board_ = trainer->progress;
    call_.emplace(*board_, ThreadCall{ThreadCall::Kind::computes, call.key.shard, call.key.step});
  }

  SeamSetup setup_;
  std::string thread_;
  Nanoseconds Pace::*most_;
  std::shared_ptr<ProgressBoard> board_;       // of a call that does not return,
  std::optional<ProgressBoard::InCall> call_;  // and the call
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

// Commands run in order, each after a moment.
class SimulatedDataPlane final : public DataPlane {
 public:
  SimulatedDataPlane(const SeamSetup& setup, const std::string& name, Engine::Hooks hooks,
                     const TransferOptions& transfer_sender)
      : setup_(setup), transport_(setup.network->attach(name)) {
    Transport* transport = transport_.get();
    if (setup.watch) look_on(hooks);
    if (setup.watch && setup.show_frames) {
      spy_ = std::make_unique<SpyTransport>(*transport_, setup.process, *setup.watch, setup.arrivals);
      transport = spy_.get();
    }
    engine_ = std::make_shared<Engine>(*transport, std::move(hooks), transfer_sender);
    ++setup_.alive->engines;
    if (setup.carries_gpu_memory) *setup.gpu_works = GpuWatch{setup.world, setup.process, engine_};
  }
  ~SimulatedDataPlane() override { --setup_.alive->engines; }

  void post(std::function<void(Engine&)> command) override {
    commands_->push_back(std::move(command));
    setup_.world->after(setup_.process, std::chrono::microseconds(1),
                        [this, alive = std::weak_ptr<Engine>(engine_)] { run_next(alive); });
  }

  std::string address() const override { return transport_->address(); }
  std::string host_of(const std::string& address) const override { return simulated_host(address); }
  std::string describe() const override { return transport_->describe(); }
  bool shares_memory() const override { return true; }
  bool carries_gpu_memory() const override { return setup_.carries_gpu_memory; }

 private:
  // Goes on with what a GPU has added up, again and again, as the progress thread does.
  struct GpuWatch {
    World* world;
    ProcessId process;
    std::weak_ptr<Engine> engine;
    std::shared_ptr<bool> looks = std::make_shared<bool>(false);

    void operator()() const {
      if (std::exchange(*looks, true)) return;
      world->after(process, world->up_to(std::chrono::microseconds(20)), [watch = *this] {
        *watch.looks = false;
        const auto alive = watch.engine.lock();
        if (!alive || !alive->folding()) return;
        alive->fold_on();
        watch();
      });
    }
  };

  // The next command; when the thread is thawed, if it stands still.
  void run_next(const std::weak_ptr<Engine>& alive) {
    const auto engine = alive.lock();
    if (!engine || setup_.frozen->holds(kProgressThread, [this, alive] { run_next(alive); })) return;
    const auto next = std::move(commands_->front());
    commands_->pop_front();
    run(*engine, next);
  }

  void run(Engine& engine, const std::function<void(Engine&)>& command) {
    const std::uint32_t before = engine.view();
    command(engine);
    if (setup_.watch && engine.view() != before) setup_.watch->view_entered(setup_.process, engine.view());
    setup_.alive->batches = std::max(setup_.alive->batches, engine.batches_in_flight());
  }

  void look_on(Engine::Hooks& hooks) {
    hooks.round_done = [this, done = std::move(hooks.round_done)](std::shared_ptr<const RoundRecord> record) {
      setup_.watch->record(setup_.process, engine_->view(), *record);
      if (const auto trainer = setup_.trainer->lock()) setup_.bits->record_has_come(*trainer, *record);
      done(std::move(record));
    };
    hooks.transferred = [this, handed = std::move(hooks.transferred)](const Frame& frame,
                                                                      std::vector<std::byte> payload) {
      if (comes_in_pieces(frame.kind)) setup_.watch->transferred(setup_.process);
      handed(frame, std::move(payload));
    };
    hooks.closed = [this, closed = std::move(hooks.closed)](std::uint32_t view, bool result_begun,
                                                            bool result_abandoned) {
      setup_.watch->view_closed(setup_.process, view);
      closed(view, result_begun, result_abandoned);
    };
  }

  SeamSetup setup_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<SpyTransport> spy_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<std::deque<std::function<void(Engine&)>>> commands_ =
      std::make_shared<std::deque<std::function<void(Engine&)>>>();
};

}  // namespace

std::string simulated_host(const std::string& address) {
  return std::to_string(std::accumulate(address.begin(), address.end(), 0) % 2);
}

namespace {

using Done = std::function<void(std::vector<NotReached>)>;

// Who does not answer at once is waited for.
void dial(const SeamSetup& setup, const std::string& own, const std::vector<Member>& peers, bool again,
          const Done& done) {
  std::vector<Member> closed;
  for (const Member& peer : peers) {
    if (!setup.network->reaches(own, peer.address)) closed.push_back(peer);
  }
  std::vector<NotReached> found;
  for (const Member& peer : closed) found.push_back({peer.name, peer.address, "no answer"});
  if (closed.empty() || again) return done(std::move(found));
  setup.world->after(setup.process, kDialPatience,
                     [setup, own, closed, done] { dial(setup, own, closed, true, done); });
}

}  // namespace

NodeSeams simulated_seams(const SeamSetup& setup) {
  NodeSeams seams;
  seams.make_executor = [setup](const std::string& thread, const std::string&) {
    const auto most = thread == "muster-load"   ? &Pace::loading_max
                      : thread == "muster-disk" ? &Pace::disk_max
                                                : &Pace::compute_max;
    return std::make_shared<SimulatedExecutor>(setup, thread, most);
  };
  // States are small here, and cut into small pieces.
  seams.make_data_plane = [setup](const Job& job, const NodeName& name, const std::string&,
                                  Engine::Hooks hooks) {
    if (setup.named) setup.named(name);
    return std::make_shared<SimulatedDataPlane>(setup, name.text(), std::move(hooks),
                                                TransferOptions{job.cluster.join_share, 128, 32});
  };
  if (setup.gpus)
    seams.make_device = [works = setup.gpu_works](const std::string&, const DeviceMemory&) {
      auto device = std::make_shared<testing::LateDevice>();
      device->works = [works] {
        if (*works) (*works)();
      };
      return device;
    };
  seams.dial_ports = [setup](const std::string& own, const std::vector<Member>& peers, const Done& done) {
    setup.world->after(setup.process, setup.world->up_to(std::chrono::milliseconds(1)),
                       [setup, own, peers, done] { dial(setup, own, peers, false, done); });
  };
  seams.open_disk = [disk = setup.disk, spare = setup.spare](const std::string& folder) {
    return disk && folder != disk->folder() ? spare : disk;
  };
  // A replica as ever; its trainer state is looked at.
  seams.spawn_replica = [setup](caf::actor_system& system, ReplicaSetup replica_setup) {
    *setup.trainer = replica_setup.trainer;
    if (setup.spawn_replica) return setup.spawn_replica(system, std::move(replica_setup));
    return system.spawn(muster::replica, std::move(replica_setup));
  };
  return seams;
}

}  // namespace muster::simulation
