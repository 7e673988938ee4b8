// Virtual time and processes: what lets a whole cluster happen in one thread. The order of everything is
// drawn from one seed, and told by one hash.
//
// A process is what the kernel stops and kills as one: its actors (each actor belongs to the process in whose
// name it was spawned, or to that of the actor that spawned it), its timers, its executors. A paused process
// stands still: messages wait in its mailboxes, events that fall due are kept; when it is resumed, all come.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>

namespace muster::simulation {

using Nanoseconds = std::chrono::nanoseconds;
using ProcessId = std::uint32_t;
inline constexpr ProcessId kNobody = 0;  ///< the network, the simulation itself

class World {
 public:
  using Action = std::function<void()>;

  /// `system` runs under CAF's testing scheduler, and outlives the world.
  World(caf::actor_system& system, std::uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // ---- processes
  ProcessId add_process(const std::string& name);
  /// Whatever `action` spawns belongs to the process.
  void as(ProcessId process, const Action& action);
  void pause(ProcessId process);
  void resume(ProcessId process);
  /// The process is gone: no event of it happens any more. Its actors are its owner's to end.
  void end(ProcessId process);
  bool alive(ProcessId process) const { return processes_[process].alive; }
  bool paused(ProcessId process) const { return processes_[process].paused; }
  /// From before `since`, and until `until` at least.
  bool stood_still(ProcessId process, Nanoseconds since, Nanoseconds until) const {
    const Process& each = processes_[process];
    return each.paused_at <= since &&
           (each.paused || (each.resumed_at > each.paused_at && each.resumed_at >= until));
  }
  /// The last time that it went on; 0: it never stood still.
  Nanoseconds resumed_at(ProcessId process) const { return processes_[process].resumed_at; }
  void rename(ProcessId process, const std::string& name) { processes_[process].name = name; }
  const std::string& name(ProcessId process) const { return processes_[process].name; }
  /// Now and then the actors of this process get no core for up to `most`, while its other threads run.
  void set_lag(ProcessId process, Nanoseconds most) { processes_[process].lag_max = most; }

  // ---- time
  Nanoseconds now() const;
  /// Later, in the name of a process. Events of equal time happen in the order of the calls.
  void after(ProcessId process, Nanoseconds delay, Action action);
  void after(Nanoseconds delay, Action action) { after(kNobody, delay, std::move(action)); }
  /// Delivers one message to a seeded choice of the actors that have one; when none has, time goes on.
  /// False if nothing is left to happen.
  bool step();
  std::uint64_t deliveries() const { return deliveries_; }
  std::size_t events_waiting() const { return events_.size(); }
  /// Nothing more is kept or happens; for the end, before what the events hold goes.
  void finish();

  // ---- chance, and what came of it
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool chance(double share) { return static_cast<double>(random_() >> 11) * 0x1p-53 < share; }
  Nanoseconds up_to(Nanoseconds most) {
    return Nanoseconds(1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most.count())));
  }
  Nanoseconds between(Nanoseconds least, Nanoseconds most) {
    return most > least ? least + up_to(most - least) : least;
  }
  void trace(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001b3ull; }
  void trace(const std::string& text);
  std::uint64_t hash() const { return hash_; }

 private:
  struct Event {
    Nanoseconds time;
    std::uint64_t number;
    ProcessId process;
    Action action;
    bool operator<(const Event& other) const {  // a heap's greatest comes first
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  struct Process {
    std::string name;
    bool alive = true;
    bool paused = false;
    bool lagging = false;
    Nanoseconds lag_max{0};
    std::vector<Action> due;                  // while it was paused
    std::vector<caf::resumable*> ready;       // actors with a message, while they may not run
    Nanoseconds paused_at{0}, resumed_at{0};  // the last time
  };

  ProcessId owner_of(caf::resumable* job) const;
  void adopt_new_actors(ProcessId process);
  void run(ProcessId process, const Action& action);
  void deliver();
  bool may_run(Process& process, ProcessId id);
  void let_ready_run(Process& process);

  caf::actor_system& system_;
  caf::scheduler::test_coordinator& scheduler_;
  std::mt19937_64 random_;
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
  std::vector<Process> processes_;
  std::vector<ProcessId> owners_;  // by actor id
  std::vector<Event> events_;      // a heap
  std::uint64_t events_made_ = 0;
  std::uint64_t deliveries_ = 0;
  bool over_ = false;
};

}  // namespace muster::simulation
