// The thread that a transport and all that stands on it belong to. It computes nothing: it moves bytes, runs
// short commands, and answers within the time of a wake-up, whatever the computing threads do.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "muster/transport/transport.hpp"
#include "muster/transport/ucx/command_queue.hpp"

namespace muster {

struct ProgressOptions {
  /// How many idle polls follow the last event before the thread waits for a descriptor. More: shorter
  /// reaction (0.3 µs instead of 35 µs), a busier core. Counts only while `busy` says so.
  unsigned spin_polls = 200;
  /// After how many idle polls it gives way to other threads at each poll; without it, processes that share a
  /// core wait for each other's time slices (8 ms).
  unsigned polls_before_yield = 50;
  /// The longest wait, and the time between two calls of `on_tick`.
  std::chrono::milliseconds tick{50};
  /// On the thread, once a tick, with the time of day of the steady clock: for deadlines. May be empty.
  std::function<void(std::chrono::steady_clock::time_point now)> on_tick;
  /// On the thread, at each idle poll: whether something is in flight that is worth spinning for. Empty:
  /// never spin.
  std::function<bool()> busy;
};

class ProgressThread {
 public:
  /// Takes the transport, and starts. Throws Error if the process has no descriptor left.
  ProgressThread(std::unique_ptr<Transport> transport, ProgressOptions options = {});

  /// Runs what was posted before, destroys the transport on its thread, joins. Not on the thread itself.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Any thread, also this one: runs the command on the thread, after those posted before it. Does not block.
  /// The command must be short, and must not throw.
  void post(Command command) { commands_.post(std::move(command)); }

  /// Only on the thread, which is to say within commands and callbacks.
  Transport& transport() { return *transport_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  void run();
  bool poll();
  void rest();
  void wait();
  void tick(Time now);

  std::unique_ptr<Transport> transport_;
  const ProgressOptions options_;
  CommandQueue commands_;
  const int waiter_;         // an epoll of both descriptors
  bool stopping_ = false;    // the thread's
  unsigned idle_polls_ = 0;  // the thread's
  Time next_tick_;           // the thread's
  std::thread thread_;       // last: it uses all of the above
};

}  // namespace muster
