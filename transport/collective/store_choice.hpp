// How sums are written that other processes of this host will read: through the caches, or past them straight
// to memory. Which is quicker depends on where the system has put the processes, and changes while they run:
// between cores that share a cache, through it; where a line must be fetched out of another core's own cache,
// past it (2 processes, 256 KiB: 7 and 11 µs, or 23 and 15). So it is measured, again and again. No bit
// depends on it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "muster/transport/collective/kernels.hpp"

namespace muster {

/// Of the sums of one view. All members count the same rounds, so they try the same way in the same round:
/// who writes and who reads see what it costs. One thread.
class StoreChoice {
 public:
  using Clock = std::function<std::chrono::nanoseconds()>;
  /// Without a clock nothing is tried, and all goes through the caches.
  explicit StoreChoice(Clock clock = nullptr) : clock_(std::move(clock)) {}

  /// A round with sums begins; the one before it is over.
  void begin();
  /// How this round's are written.
  kernels::Store way() const { return way_; }
  /// Around each addition, and each copy of what others have added.
  void start() { started_ = clock_ ? clock_() : std::chrono::nanoseconds{0}; }
  void stop() { moved_ += clock_ ? clock_() - started_ : std::chrono::nanoseconds{0}; }

  static constexpr std::uint64_t kWarmUp = 2;    ///< rounds that do not count: memory is touched first
  static constexpr std::uint64_t kFirst = 6;     ///< each way in turns, until then
  static constexpr std::uint64_t kEvery = 64;    ///< of so many rounds, the first two try both again
  static constexpr std::size_t kRemembered = 2;  ///< the shortest of so many counts

 private:
  using Times = std::array<std::chrono::nanoseconds, kRemembered>;
  static bool tries(std::uint64_t round) { return round < kFirst || round % kEvery < 2; }
  void remember();
  kernels::Store better() const;

  Clock clock_;
  kernels::Store way_ = kernels::Store::cached;
  std::uint64_t rounds_ = 0;  // that have begun
  std::chrono::nanoseconds started_{0}, moved_{0};
  std::array<Times, 2> times_{};  // by way
  std::array<std::size_t, 2> tried_{};
};

}  // namespace muster
