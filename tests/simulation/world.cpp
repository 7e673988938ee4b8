#include "tests/simulation/world.hpp"

#include <algorithm>
#include <utility>

namespace muster::simulation {

namespace {
constexpr std::uint64_t kLagOneIn = 64;  // deliveries to the actors of a process that has lag
}

World::World(caf::actor_system& system, std::uint64_t seed)
    : system_(system),
      scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler())),
      random_(seed) {
  processes_.push_back({"nobody", true, false, false, Nanoseconds(0), {}, {}});
  adopt_new_actors(kNobody);
}

World::~World() {
  finish();
}

// What may not run is given back to the scheduler: to end, an actor has to run.
void World::finish() {
  over_ = true;
  std::vector<Event> rest;
  rest.swap(events_);
  for (Process& process : processes_) {
    std::vector<Action> due;
    due.swap(process.due);
    process.paused = process.lagging = false;
    let_ready_run(process);
  }
}

// ---- processes

ProcessId World::add_process(const std::string& name) {
  processes_.push_back({name, true, false, false, Nanoseconds(0), {}, {}});
  return static_cast<ProcessId>(processes_.size() - 1);
}

void World::as(ProcessId process, const Action& action) {
  adopt_new_actors(kNobody);
  action();
  adopt_new_actors(process);
}

void World::adopt_new_actors(ProcessId process) {
  owners_.resize(system_.latest_actor_id() + 1, process);
}

ProcessId World::owner_of(caf::resumable* job) const {
  const auto* actor = dynamic_cast<caf::scheduled_actor*>(job);
  if (!actor || actor->id() >= owners_.size()) return kNobody;
  return owners_[actor->id()];
}

void World::pause(ProcessId process) {
  if (std::exchange(processes_[process].paused, true)) return;
  processes_[process].paused_at = now();
}

void World::resume(ProcessId id) {
  Process& process = processes_[id];
  if (!process.paused) return;
  process.paused = false;
  process.resumed_at = now();
  if (!process.lagging) let_ready_run(process);
  std::vector<Action> due;
  due.swap(process.due);
  for (Action& action : due) after(id, Nanoseconds(0), std::move(action));
}

void World::end(ProcessId id) {
  Process& process = processes_[id];
  process.alive = process.paused = process.lagging = false;
  process.due.clear();
  let_ready_run(process);
}

void World::let_ready_run(Process& process) {
  scheduler_.jobs.insert(scheduler_.jobs.end(), process.ready.begin(), process.ready.end());
  process.ready.clear();
}

// ---- time

Nanoseconds World::now() const {
  return scheduler_.clock().now().time_since_epoch();
}

void World::after(ProcessId process, Nanoseconds delay, Action action) {
  if (over_) return;
  events_.push_back({now() + delay, ++events_made_, process, std::move(action)});
  std::push_heap(events_.begin(), events_.end());
}

void World::trace(const std::string& text) {
  for (const char c : text) trace(static_cast<unsigned char>(c));
}

void World::run(ProcessId id, const Action& action) {
  if (Process& process = processes_[id]; !process.alive) return;
  if (Process& process = processes_[id]; process.paused) {
    process.due.push_back(action);
    return;
  }
  adopt_new_actors(kNobody);
  action();
  adopt_new_actors(id);
}

bool World::step() {
  if (!scheduler_.jobs.empty()) {
    deliver();
    return true;
  }
  auto& clock = scheduler_.clock();
  const auto& timers = clock.schedule();
  if (events_.empty() && timers.empty()) return false;
  if (events_.empty() ||
      (!timers.empty() && timers.begin()->first.time_since_epoch() < events_.front().time)) {
    trace(static_cast<std::uint64_t>(timers.begin()->first.time_since_epoch().count()));
    scheduler_.trigger_timeout();
    return true;
  }
  std::pop_heap(events_.begin(), events_.end());
  const Event event = std::move(events_.back());
  events_.pop_back();
  clock.current_time = std::max(clock.current_time, caf::actor_clock::time_point(event.time));
  trace(event.number);
  trace(static_cast<std::uint64_t>(now().count()));
  ++deliveries_;
  run(event.process, event.action);
  return true;
}

bool World::may_run(Process& process, ProcessId id) {
  if (process.paused || process.lagging) return false;
  if (process.lag_max.count() == 0 || below(kLagOneIn) != 0) return true;
  process.lagging = true;
  after(up_to(process.lag_max), [this, id] {
    Process& lagged = processes_[id];
    lagged.lagging = false;
    if (!lagged.paused) let_ready_run(lagged);
  });
  return false;
}

void World::deliver() {
  auto& jobs = scheduler_.jobs;
  const std::size_t chosen = random_() % jobs.size();
  std::swap(jobs.front(), jobs[chosen]);
  trace(chosen);
  const ProcessId owner = owner_of(jobs.front());
  if (Process& process = processes_[owner]; process.alive && !may_run(process, owner)) {
    process.ready.push_back(jobs.front());
    jobs.pop_front();
    return;
  }
  adopt_new_actors(kNobody);
  scheduler_.try_run_once();
  adopt_new_actors(owner);
  ++deliveries_;
}

}  // namespace muster::simulation
