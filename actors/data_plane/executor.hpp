// Where computation runs, so that no actor computes: a thread of its own in a real process, virtual time in
// the simulator.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace muster {

/// Runs jobs one after the other, in the order of `submit`. The destructor ends what waits, and joins; a job
/// that runs is waited for.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void submit(std::function<void()> job) = 0;
};

/// A thread of that name. `core`: the logical core that it is pinned to, or -1.
std::unique_ptr<Executor> make_thread_executor(const std::string& name, int core);

}  // namespace muster
