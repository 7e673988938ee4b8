// Replicas do not find the checkpoint with which their view begins, and others or the coordinator do: the
// folder may be mounted soon, or was away when they looked. All of them look again for a while, some of them
// once. Pure. For one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace muster {

class MountWait {
 public:
  using Duration = std::chrono::nanoseconds;
  using Time = std::chrono::steady_clock::time_point;

  /// No replica finds it (`by_all`), or some do not. True: that was not known.
  bool missed(bool by_all, Time now);
  /// These have not found it. The next view is not made before `next_look`. False: none found it within
  /// `give_up`.
  [[nodiscard]] bool look_again(const std::vector<std::uint32_t>& slots, Time now, Duration give_up);
  /// They have found it, or the next view begins with another one.
  void end() { missed_.reset(); }

  bool by_all() const { return missed_ && missed_->by_all; }
  /// Whether a replica that has not found it may look once more.
  bool may_find(std::uint32_t slot, Duration give_up) const;
  /// When they are to look again, if not yet.
  std::optional<Time> next_look(Time now) const;
  /// Time in which nobody could look does not count.
  void stood_still(Duration gap, Time now);

 private:
  struct Missed {
    bool by_all;
    Time since;
    Duration wait;
    Time again;
    std::set<std::uint32_t> looked;  // once, and did not find it though others did
  };
  std::optional<Missed> missed_;
};

}  // namespace muster
