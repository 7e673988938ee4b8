// How long a run has trained, and how many samples a second it did, as far as this coordinator was there.
// Pure. For one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "muster/progress.hpp"

namespace muster {

class TrainingRate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The first view is in force, or a restarted coordinator waits for its members.
  void begin(Time now) { from_ = now; }
  /// This coordinator was started again: of what was done before nothing is known.
  void restarted() { restarted_ = true; }
  /// A step was reported, which counts.
  void heard(const Progress& progress, Time now);
  /// A replica is done, or the last checkpoint is to be written.
  void end(Time now) { to_ = now; }
  /// The same, unless that was said before.
  void end_at_latest(Time now);

  /// The last report; null: none.
  const Progress* last() const { return heard_ ? &heard_->last : nullptr; }
  /// In samples a second, between the first report and the last; 0: not known.
  double rate() const;

  struct Summary {
    double seconds = 0;             ///< without evaluation
    double samples_per_second = 0;  ///< 0: not known
  };
  /// Of a run that has `samples`, `before` of them in the checkpoint that it went on from. Nothing: it has
  /// not trained.
  std::optional<Summary> sum_up(std::uint64_t samples, std::uint64_t before, double evaluating_s) const;

 private:
  struct Heard {
    Time from{};  // the first report
    std::uint64_t samples_before = 0;
    Progress last = {};
    Time to{};
  };
  Time from_{}, to_{};
  bool restarted_ = false;
  std::optional<Heard> heard_;
};

}  // namespace muster
