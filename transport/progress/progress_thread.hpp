// The thread that a transport and all that stands on it belong to. It computes nothing: it moves bytes, runs
// short commands, and answers within the time of a wake-up, whatever the computing threads do.
//
// Waking a thread takes longer than a small reduction. So a thread that has something to send and would wait
// for the answer may drive the transport itself, while the progress thread rests; a lock sees to it that one
// of them does at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.hpp"
#include "transport/progress/command_queue.hpp"
#include "transport/transport.hpp"

namespace muster {

struct ProgressOptions {
  /// How many idle polls follow the last event before the thread waits for a descriptor. More: shorter
  /// reaction (0.3 µs instead of 35 µs), a busier core. Counts only while `busy` says so.
  unsigned spin_polls = 200;
  /// After how many idle polls it gives way to other threads at each poll; without it, processes that share a
  /// core wait for each other's time slices (8 ms).
  unsigned polls_before_yield = 1;
  /// Whoever gives way for longer than this has lost its core to one that computes. For `crowded_for` it does
  /// not spin then, but sleeps: who is woken comes before those who compute, who gives way behind them.
  std::chrono::microseconds yield_max{1000};
  std::chrono::milliseconds crowded_for{100};
  /// The longest that another thread drives at a time, and that it goes on when nothing moves: a peer that
  /// adds up a chunk is silent for a while.
  std::chrono::microseconds drive_for{2000};
  std::chrono::microseconds drive_idle_for{500};
  /// For so long after another thread has driven, the progress thread naps for half a millisecond at a
  /// time instead of sleeping: rounds that follow close upon each other wake nobody.
  std::chrono::microseconds warm{1000};
  /// The longest wait, and the time between two calls of `on_tick`.
  std::chrono::milliseconds tick{50};
  /// On the thread, once a tick, with the time of day of the steady clock: for deadlines. May be empty.
  std::function<void(std::chrono::steady_clock::time_point now)> on_tick;
  /// On the thread, at each idle poll: whether something is in flight that is worth spinning for. Empty:
  /// never spin.
  std::function<bool()> busy;
  /// On the thread, at each poll: moves what no descriptor tells of, and says whether something happened.
  /// Empty: there is nothing such.
  std::function<bool()> poll;
  /// Whether there is some of that now: the thread does not sleep then.
  std::function<bool()> polled;
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

  /// Any thread but within a command or a callback: as `post`, but the calling thread runs the command, and
  /// what was posted before it, if the progress thread is not in the middle of something longer. What follows
  /// from it is left to the progress thread.
  void run(Command command) noexcept MUSTER_EXCLUDES(driving_);

  /// As `run`; then the calling thread goes on moving the transport, for as long as `busy` says that
  /// something is in flight, until nothing has moved for `spin_polls`, or for `drive_for`. The rest is left
  /// to the progress thread.
  void drive(Command command) noexcept MUSTER_EXCLUDES(driving_);

  /// Only on the thread that drives, which is to say within commands and callbacks.
  Transport& transport() {
    driving_.assert_held();  // by whoever runs the command or the callback
    return *transport_;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;

  void work() MUSTER_EXCLUDES(driving_);
  bool poll() MUSTER_REQUIRES(driving_);
  void rest() MUSTER_REQUIRES(driving_);   // as nap() or sleep(), if there is nothing to do
  void nap() MUSTER_REQUIRES(driving_);    // unlocks it meanwhile
  void sleep() MUSTER_REQUIRES(driving_);  // unlocks it meanwhile
  bool spins() MUSTER_REQUIRES(driving_);
  bool polls() const MUSTER_REQUIRES(driving_);
  void give_way() MUSTER_REQUIRES(driving_);
  bool sleeps() MUSTER_REQUIRES(driving_);
  void leave() MUSTER_REQUIRES(driving_);
  void tick(Time now) MUSTER_REQUIRES(driving_);

  std::unique_ptr<Transport> transport_ MUSTER_GUARDED_BY(driving_) MUSTER_PT_GUARDED_BY(driving_);
  const ProgressOptions options_;
  CommandQueue commands_;
  const int waiter_;             // an epoll of both descriptors
  std::atomic<int> drivers_{0};  // other threads that drive, or wait for their turn
  // Whoever holds it is, for the moment, the thread of all this. It is locked before that of commands_.
  Mutex driving_;
  bool stopping_ MUSTER_GUARDED_BY(driving_) = false;
  bool sleeping_ MUSTER_GUARDED_BY(driving_) = false;   // the progress thread waits for its descriptors
  bool left_busy_ MUSTER_GUARDED_BY(driving_) = false;  // the last driver left a round to the progress thread
  unsigned idle_polls_ MUSTER_GUARDED_BY(driving_) = 0;
  Time now_ MUSTER_GUARDED_BY(driving_){};  // after the last poll
  Time warm_until_ MUSTER_GUARDED_BY(driving_){};
  Time crowded_until_ MUSTER_GUARDED_BY(driving_){};
  Time next_tick_ MUSTER_GUARDED_BY(driving_);
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace muster
