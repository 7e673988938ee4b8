// Calls that may not return, for example of a disk whose server is gone. One thread makes them, one after the
// other, and whoever asks for one waits for a bounded time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.hpp"

namespace muster {

/// For one thread at a time.
class BoundedCalls {
 public:
  using Duration = std::chrono::milliseconds;
  /// Must not throw. It may outlive this object and whoever asked for it: it owns what it uses.
  using Call = std::function<void()>;
  enum class Outcome {
    returned,
    under_way,  ///< it has not returned yet, and may return at any time
    not_begun   ///< an earlier one has not returned: this one is not made
  };

  /// `parting`: how long the destructor waits for calls that have not returned. Then it leaves the thread
  /// behind, with what the calls own.
  explicit BoundedCalls(Duration parting);
  ~BoundedCalls();
  BoundedCalls(const BoundedCalls&) = delete;
  BoundedCalls& operator=(const BoundedCalls&) = delete;

  /// Waits until the call has returned, for at most this time.
  Outcome make(Call call, Duration most);
  /// Does not wait. The call is made when the one under way has returned. Of several only the last is made.
  void make_next(Call call);
  /// No call is under way, and none is to be made.
  bool idle() const;
  /// How long the call under way has not returned; 0 where idle.
  Duration not_returned_for() const;

 private:
  struct Shared {
    mutable Mutex mutex;
    ConditionVariable changed;
    Call next MUSTER_GUARDED_BY(mutex);
    bool under_way MUSTER_GUARDED_BY(mutex) = false;
    std::chrono::steady_clock::time_point since MUSTER_GUARDED_BY(mutex);  // of the call under way
    std::uint64_t returned MUSTER_GUARDED_BY(mutex) = 0;
    bool over MUSTER_GUARDED_BY(mutex) = false;
    bool ended MUSTER_GUARDED_BY(mutex) = false;

    bool idle() const MUSTER_REQUIRES(mutex) { return !under_way && !next; }
  };

  static void work(Shared& shared);

  const Duration parting_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::thread thread_;
};

}  // namespace muster
