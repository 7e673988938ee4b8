// When a checkpoint is due: a pure rule over two places of a schedule, so that every replica knows it alike
// and whoever speaks for all goes on where another one stopped.
#pragma once

#include <cstdint>

#include "actors/messages/item.hpp"
#include "muster/intervals.hpp"

namespace muster {

struct SchedulePoint {
  std::uint64_t steps = 0;   ///< committed
  std::uint64_t epochs = 0;  ///< over, and evaluated if they are

  bool operator==(const SchedulePoint&) const = default;
};

inline SchedulePoint schedule_point(const Cursor& cursor, std::uint64_t steps) {
  return {steps, cursor.epoch - 1};
}

/// Whether a multiple of the interval lies after `before`, up to `now`.
inline bool checkpoint_due(const Interval& every, const SchedulePoint& before, const SchedulePoint& now) {
  const bool steps = every.unit == Interval::Unit::steps;
  return (steps ? now.steps : now.epochs) / every.count >
         (steps ? before.steps : before.epochs) / every.count;
}

}  // namespace muster
