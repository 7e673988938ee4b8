// What a member is doing, as one status: written by its threads, carried by heartbeats and by the answers to
// pings.
#pragma once

#include <atomic>
#include <cstdint>

namespace muster {

enum class Activity : std::uint32_t {
  idle = 0,     ///< nothing is asked of it: no view, or the end; or it waits for records or its disk
  loading = 1,  ///< waits for micro-batches of its shards
  computing = 2,
  reducing = 3,   ///< has handed in what it has; waits for the others
  updating = 4,   ///< applies the step, or copies, hashes, gives or takes weights and parts of the state
  restoring = 5,  ///< goes back to a checkpoint; the coordinator has an eye on it
};
inline constexpr std::uint32_t kActivities = 6;
inline const char* text_of(Activity activity) {
  static const char* const texts[] = {"idle", "loading", "computing", "reducing", "updating", "restoring"};
  return texts[static_cast<std::uint32_t>(activity)];
}

struct ProgressStatus {
  Activity activity = Activity::idle;
  std::uint32_t shard = 0;    ///< computing: the one that is computed
  std::uint64_t counter = 0;  ///< moves with everything that is done

  bool operator==(const ProgressStatus&) const = default;
};

/// What its compute thread is in.
struct ThreadCall {
  enum class Kind : std::uint32_t { none = 0, computes = 1, reads = 2, evaluates = 3 };
  Kind kind = Kind::none;
  std::uint32_t shard = 0;
  std::uint64_t step = 0;    ///< of the job, from 1; reads: 0; evaluates: the last one applied
  std::uint64_t number = 0;  ///< no two calls of a process have the same

  bool is_of_model() const { return kind == Kind::computes || kind == Kind::evaluates; }
  bool operator==(const ThreadCall&) const = default;
};

/// The status of this member. Any thread may write and read; a reader may see a new activity with the old
/// shard.
class ProgressBoard {
 public:
  /// Returns the turn: a number that only this call gave.
  std::uint64_t now(Activity activity, std::uint32_t shard = 0) {
    std::uint64_t before = turn_.load(std::memory_order_relaxed), turn = 0;
    do turn = ((before >> kActivityBits) + 1) << kActivityBits | static_cast<std::uint64_t>(activity);
    while (!turn_.compare_exchange_weak(before, turn));
    shard_.store(shard, std::memory_order_relaxed);
    moved();
    return turn;
  }
  /// The compute thread has begun with this shard. What it does for a turn that is over says nothing of what
  /// the member waits for now.
  void computes(std::uint32_t shard) {
    if (activity() == Activity::computing) shard_.store(shard, std::memory_order_relaxed);
    moved();
  }
  /// What it did in that turn is done: it is idle, unless another turn has begun.
  void rests(std::uint64_t turn) {
    constexpr std::uint64_t kActivityMask = (1u << kActivityBits) - 1;
    if (turn_.compare_exchange_strong(turn, turn & ~kActivityMask)) moved();
  }
  /// A call of a user's code that the compute thread makes lasts as long as this lives. What is asked of the
  /// member meanwhile, in another view say, waits for it.
  class InCall {
   public:
    InCall(ProgressBoard& board, const ThreadCall& call) : board_(board) {
      board_.calls_.fetch_add(1, std::memory_order_relaxed);
      board_.call_shard_.store(call.shard, std::memory_order_relaxed);
      board_.call_step_.store(call.step, std::memory_order_relaxed);
      board_.call_kind_.store(call.kind, std::memory_order_release);
    }
    ~InCall() { board_.call_kind_.store(ThreadCall::Kind::none, std::memory_order_release); }
    InCall(const InCall&) = delete;
    InCall& operator=(const InCall&) = delete;

   private:
    ProgressBoard& board_;
  };
  /// A reader may see a new kind with the old shard and step.
  ThreadCall call() const {
    const auto kind = call_kind_.load(std::memory_order_acquire);
    return {kind, call_shard_.load(std::memory_order_relaxed), call_step_.load(std::memory_order_relaxed),
            calls_.load(std::memory_order_relaxed)};
  }

  /// Something was done, in whatever activity.
  void moved() { counter_.fetch_add(1, std::memory_order_relaxed); }
  /// How long data and computation of this node's shards took at a step. One thread writes.
  void measured(std::uint64_t step, double seconds) {
    seconds_.store(seconds, std::memory_order_relaxed);
    measured_step_.store(step, std::memory_order_relaxed);
  }
  /// Of all steps that it has applied. One thread writes.
  void trained(std::uint64_t samples) { samples_.store(samples, std::memory_order_relaxed); }
  std::uint64_t samples() const { return samples_.load(std::memory_order_relaxed); }
  std::uint64_t measured_step() const { return measured_step_.load(std::memory_order_relaxed); }
  double measured_seconds() const { return seconds_.load(std::memory_order_relaxed); }

  ProgressStatus status() const {
    return {activity(), shard_.load(std::memory_order_relaxed), counter_.load(std::memory_order_relaxed)};
  }
  /// As those are told who wait for this member: what its compute thread reads is waited for like other data;
  /// and where that is in a gradient, of an older view perhaps, no data is waited for.
  ProgressStatus reported() const {
    ProgressStatus reported = status();
    const ThreadCall in = call();
    if (in.kind == ThreadCall::Kind::reads && reported.activity == Activity::computing)
      reported.activity = Activity::loading;
    if (in.is_of_model() && reported.activity == Activity::loading) reported.activity = Activity::computing;
    return reported;
  }

 private:
  static constexpr unsigned kActivityBits = 8;
  Activity activity() const {
    return static_cast<Activity>(turn_.load(std::memory_order_relaxed) & ((1u << kActivityBits) - 1));
  }

  std::atomic<ThreadCall::Kind> call_kind_{ThreadCall::Kind::none};
  std::atomic<std::uint32_t> call_shard_{0};
  std::atomic<std::uint64_t> call_step_{0}, calls_{0}, samples_{0};
  std::atomic<std::uint64_t> turn_{0};  // the activity; above its bits, how often one was begun
  std::atomic<std::uint32_t> shard_{0};
  std::atomic<std::uint64_t> counter_{0};
  std::atomic<std::uint64_t> measured_step_{0};
  std::atomic<double> seconds_{0};
};

}  // namespace muster
