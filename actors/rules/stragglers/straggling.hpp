// Who holds up a step, and why: pure rules over what a waiting member sees.
//
// A member that waits knows, of each other one: whether its header (all its data is there) and its metrics
// (its sums are computed) have come, when a frame of it came last, and what it says that it is doing. From
// these it tells a slow loader, a slow computation and a slow link apart.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "transport/collective/rounds/liveness.hpp"

namespace muster {

/// `given`: cluster.straggler.patience; without it, three times the median step, and at least a second.
std::chrono::nanoseconds straggler_patience(std::optional<std::chrono::nanoseconds> given,
                                            std::chrono::nanoseconds median_step);

enum class LateCause { data, compute, link, restoring };
const char* text_of(LateCause cause);

struct StragglerOptions {
  std::chrono::nanoseconds patience = std::chrono::seconds(1);
  std::chrono::nanoseconds link_patience = std::chrono::seconds(1);  ///< cluster.detect.patience
  std::chrono::nanoseconds stuck_after = std::chrono::seconds(60);
};

/// Lateness::waited_for, where what comes from it has come.
inline constexpr const char* kToTake = "it to take what it was sent";

/// One who is late.
struct Lateness {
  std::uint32_t slot = 0;
  LateCause cause = LateCause::compute;
  std::chrono::nanoseconds waited{0};
  std::chrono::nanoseconds silent{0};  ///< it was asked so long ago, and not a frame of it has come
  std::string waited_for;              ///< "its header", "its sums", "the elements that it adds up", kToTake
  bool stuck = false;                  ///< its counter stands still for stuck_after
  bool link_broken = false;            ///< not a frame for link_patience
  /// It has applied the step before, and owes its gradients or its data: the step could go on without them.
  bool ready = false;
};

/// All who are late now, in order of slots. Where some owe a header or sums, those who only owe what follows
/// from these are not blamed.
std::vector<Lateness> who_is_late(const RoundSight& sight, const StragglerOptions& options);

/// Says each lateness when it begins, when it turns out to be stuck or ready, when its cause changes, and
/// again after each further patience: the coordinator forgets what it cannot judge.
class LateMemory {
 public:
  bool is_news(std::uint32_t view, std::uint64_t round, const Lateness& late,
               std::chrono::nanoseconds patience);

 private:
  std::uint32_t view_ = 0;
  std::uint64_t round_ = 0;
  std::set<std::tuple<std::uint32_t, LateCause, bool, bool>> said_;
  std::map<std::uint32_t, std::int64_t> patiences_;  // by slot: when it was said last
};

}  // namespace muster
