// Values of a job's keys that say how often or how far: "1 epoch", "1 in 256 steps", "10 steps" or "5s". Pure
// functions; nothing is thrown.
//
//   #include "muster/intervals.hpp"
//   #include "muster/job.hpp"
//
//   void set(muster::Job& job) {
//     job.checkpoint.every = {500, muster::Interval::Unit::steps};
//     job.train.audit = {256};  // 1 in 256 steps
//     job.report.progress_every = muster::parse_progress_every("10 steps").value();
//   }
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

// ------------------------------------------------------------ a distance in a run

/// How often something is done, in steps or in epochs: checkpoint.every.
struct Interval {
  /// What `count` counts.
  enum class Unit { epochs, steps };

  std::uint64_t count = 1;   ///< at least 1
  Unit unit = Unit::epochs;  ///< of `count`

  bool operator==(const Interval&) const = default;
};

/// The texts that parse_interval takes, in words, for messages.
inline constexpr std::string_view kIntervalAllowed =
    "a whole number of at least 1 with \"steps\" or \"epochs\", such as \"500 steps\" or \"1 epoch\"";

/// Reads an interval; none if the text is no interval. The plural is optional: "1 epoch", "2 epochs", "1
/// epochs".
std::optional<Interval> parse_interval(std::string_view text);

/// The text of an interval: parse_interval gives the same value back.
std::string format_interval(const Interval& interval);

// ------------------------------------------------------------ how often something is done on steps

/// On how many of the steps something is done: train.audit.
struct Rate {
  std::uint64_t every = 0;  ///< steps; 0: never

  bool operator==(const Rate&) const = default;
};

/// The texts that parse_rate takes, in words, for messages.
inline constexpr std::string_view kRateAllowed =
    "\"off\", or \"1 in N steps\" with a whole number N of at least 1, such as \"1 in 256 steps\"";

/// Reads a rate, "off" or "1 in N steps"; none if the text is neither.
std::optional<Rate> parse_rate(std::string_view text);

/// The text of a rate: parse_rate gives the same value back.
std::string format_rate(const Rate& rate);

// ------------------------------------------------------------ how often the progress of a run is told

/// Either steps or a time: whoever sets one sets the other to 0. Both 0: never.
struct ProgressEvery {
  std::uint64_t steps = 0;               ///< 0: by time
  std::chrono::milliseconds time{5000};  ///< 0: by steps

  bool operator==(const ProgressEvery&) const = default;
};

/// The least `time`: replicas report their steps no more often than this, unless it is by steps.
inline constexpr std::chrono::milliseconds kProgressTimeMin{200};

/// The texts that parse_progress_every takes, in words, for messages.
inline constexpr std::string_view kProgressEveryAllowed =
    "\"off\", steps or a time of at least 200 ms, such as \"10 steps\", \"500ms\" or \"1min\"";

/// Reads "off", a number of steps or a time of at least kProgressTimeMin; none if the text is nothing of
/// these.
std::optional<ProgressEvery> parse_progress_every(std::string_view text);

/// The text of such a value: parse_progress_every gives the same value back.
std::string format_progress_every(const ProgressEvery& every);

}  // namespace muster
