// When a write is tried again that the disk refused, and how long another thread is waited for: pure rules.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace muster {

inline constexpr std::chrono::nanoseconds kDiskAgainMin = std::chrono::milliseconds(100);
inline constexpr std::chrono::nanoseconds kDiskAgainMax = std::chrono::seconds(10);

/// The wait after the next refusal, given the one after this.
inline std::chrono::nanoseconds disk_back_off(std::chrono::nanoseconds wait) {
  return std::min(2 * wait, kDiskAgainMax);
}

/// How long to wait before the next try, `since` the first refusal; never beyond `give_up`, at which there is
/// one more try. Nothing: that one is over.
inline std::optional<std::chrono::nanoseconds> disk_again_in(std::chrono::nanoseconds wait,
                                                             std::chrono::nanoseconds since,
                                                             std::chrono::nanoseconds give_up) {
  if (since >= give_up) return std::nullopt;
  return std::min(wait, give_up - since);
}

/// What the disk has refused so far.
struct DiskTries {
  std::uint32_t refused = 0;
  std::chrono::nanoseconds since{0};  ///< on the clock of who tries
  bool last = false;                  ///< the time is over: it is looked whether an older file can be read
};

/// A replica waits for another thread in so many looks: time in which the whole process stood still counts as
/// one of them.
inline constexpr std::uint32_t kLooksMax = 8;

template <class Overdue>
Overdue looks_again(Overdue overdue) {
  --overdue.looks;
  return overdue;
}

/// Why a file could not be read, if not for what is in it: its disk refuses, or there is none of that name.
enum class Unread : std::uint8_t { no, refused, gone };

/// The wait after the `tries`-th refusal, from 1.
inline std::chrono::nanoseconds disk_wait(std::uint32_t tries) {
  std::chrono::nanoseconds wait = kDiskAgainMin;
  for (std::uint32_t i = 1; i < tries && wait < kDiskAgainMax; ++i) wait = disk_back_off(wait);
  return wait;
}

}  // namespace muster
