// Which way the sums of a round go, where more than one gives the same bits. Members of one host may write
// what the others will read through the caches, or past them straight to memory; and two members may each add
// all of it up (Algorithm::one_shot) instead of a half. Which is quickest depends on where the system has put
// the processes, and changes while they run. Two processes, adding and copying alone: between cores that
// share a cache 256 KiB take 7, 15 or 11 µs; where a line must be fetched out of another core's own cache 32,
// 18 or 19, and 4 MiB 330, 263 or 221. So it is measured, again and again.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "muster/transport/collective/kernels.hpp"

namespace muster {

enum class SumWay : std::uint8_t {
  cached,    ///< along the trees, written through the caches
  streamed,  ///< along the trees, past the caches
  one_shot,  ///< every member adds all of it up
};

/// Of the sums of one view. All members count the same rounds, so they try the same way in the same round:
/// who writes and who reads see what it costs. One thread.
class WayChoice {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;
  /// `ways`: how many of SumWay are open to it, from the first one on. Without a clock it is the first.
  explicit WayChoice(std::size_t ways = 1, Clock clock = nullptr) : ways_(ways), clock_(std::move(clock)) {}

  /// A round with sums begins; the one before it is over. `agreed`: all members wanted `one_shot`, by what
  /// they said in the round before.
  void begin(bool agreed = false);
  /// This round's.
  SumWay way() const { return way_; }
  kernels::Store store() const {
    return way_ == SumWay::streamed ? kernels::Store::streamed : kernels::Store::cached;
  }
  /// Whether `one_shot` took this member the least time.
  bool wants_one_shot() const { return best(ways_) == SumWay::one_shot; }
  /// Around each addition, and each copy of what others have added.
  void start() { started_ = clock_ ? clock_() : std::chrono::nanoseconds{0}; }
  void stop() { moved_ += clock_ ? clock_() - started_ : std::chrono::nanoseconds{0}; }

  static constexpr std::uint64_t kWarmUp = 1;    ///< turns that do not count: memory is touched first
  static constexpr std::uint64_t kFirst = 3;     ///< turns of all ways at the beginning
  static constexpr std::uint64_t kEvery = 64;    ///< rounds, of which the first ones try all ways again
  static constexpr std::size_t kRemembered = 2;  ///< the shortest of so many counts

 private:
  using Times = std::array<std::chrono::nanoseconds, kRemembered>;
  bool tries(std::uint64_t round) const;
  void remember();
  SumWay best(std::size_t ways) const;

  std::size_t ways_;
  Clock clock_;
  SumWay way_ = SumWay::cached;
  std::uint64_t rounds_ = 0;  // that have begun
  std::chrono::nanoseconds started_{0}, moved_{0};
  std::array<Times, 3> times_{};  // by way
  std::array<std::size_t, 3> tried_{};
};

}  // namespace muster
