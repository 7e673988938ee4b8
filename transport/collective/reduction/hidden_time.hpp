// For how long parts of a member's sums are under way while it still computes the rest.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

namespace muster {

class HiddenTime {
 public:
  using Time = std::chrono::nanoseconds;

  /// Whether something is under way from now on. `now()` is called only where that has changed.
  template <typename Clock>
  void look(bool under_way, const Clock& now) {
    if (since_.has_value() == under_way) return;
    if (under_way) {
      since_ = now();
    } else {
      hidden_ += now() - *std::exchange(since_, std::nullopt);
    }
  }
  /// The member has computed all. Not to be called again, nor `look`, until `reset`.
  void computed(Time now) {
    if (since_) hidden_ += now - *since_;
  }
  void reset() { *this = {}; }
  Time total() const { return hidden_; }

 private:
  std::optional<Time> since_;
  Time hidden_{0};
};

}  // namespace muster
