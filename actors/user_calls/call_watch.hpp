// How long the call of a user's code that is under way has been so, and a word to people about it.
#pragma once

#include <chrono>
#include <optional>

#include "actors/user_calls/call_note.hpp"

namespace muster {

/// One thread makes the calls, of this process or another one; one looks at them here.
class CallWatch {
 public:
  /// `note` outlives it.
  explicit CallWatch(const CallNote& note) : note_(note), since_(Clock::now()), told_(since_) {}

  /// Every now and then; a call that is quicker than that is not seen.
  void look();

  /// A call on samples, which is quick, has been under way for so long. Others read all data, or build a
  /// model.
  bool stuck_for(std::chrono::milliseconds patience) const;

  /// For so long nothing was called, not even Muster.
  bool not_begun_for(std::chrono::milliseconds patience) const;
  /// Whether it has come to muster::main.
  bool has_begun() const { return note_.calls() > 0; }

  /// On stderr, each 10 s that a call has been under way.
  void report();

 private:
  using Clock = std::chrono::steady_clock;

  const CallNote& note_;
  std::optional<CallNote::Call> call_;
  Clock::time_point since_, told_;
};

}  // namespace muster
