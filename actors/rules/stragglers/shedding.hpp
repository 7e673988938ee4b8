// Shards move from slow replicas to faster ones: a pure rule over measured times. The sum does not depend on
// who computes what, so this changes the time of a step, never its bits.
//
// A shard costs a replica its own time per shard (data and computation; all shards of a step are alike in
// size). Intervals stay contiguous, in order of slots, so a deal is a number of shards for each replica;
// giving each shard in turn to whom it delays least makes the slowest replica's time the least possible.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/placement.hpp"

namespace muster {

/// Intervals in the order of `seconds_per_shard`; each replica gets a shard as long as there are enough. A
/// time of 0 is unknown, and taken for the median of the others. There is at least one replica.
std::vector<ShardInterval> deal_by_speed(std::uint32_t shards, std::vector<double> seconds_per_shard);

/// How long the slowest replica takes for its shards.
double slowest_seconds(const std::vector<ShardInterval>& deal, const std::vector<double>& seconds_per_shard);

struct SheddingOptions {
  double gain_min = 0.15;      ///< share of the slowest replica's time that a move must save
  std::uint32_t in_a_row = 5;  ///< steps in a row that must promise it, at first
};

/// Decides when to move. To move shards costs a view change and the redoing of a step, so one slow step is no
/// reason, and neither is a small gain. Each move doubles the steps that the next one must be promised for:
/// where times are mere noise, shards do not swing.
class Shedding {
 public:
  static constexpr std::size_t kWindow = 15;   ///< steps whose mean is a replica's time
  static constexpr std::size_t kOutliers = 3;  ///< of them that are left out: the slowest
  static constexpr std::uint32_t kDoublingsMax = 7;
  static constexpr std::uint32_t kCalmSteps = 1000;  ///< without a promise: earlier moves are forgotten

  explicit Shedding(SheddingOptions options = {}) : options_(options) {}

  /// The shards dealt by what is known of these replicas.
  std::vector<ShardInterval> deal(const std::vector<std::uint32_t>& slots, std::uint32_t shards) const;

  /// A new view: what was measured stays, what was promised does not.
  void entered(std::vector<std::uint32_t> slots, std::vector<ShardInterval> deal);

  /// A replica of the view has computed a step: seconds for data and computation together, of all its shards.
  void measured(std::uint32_t slot, std::uint64_t step, double seconds);

  struct Move {
    std::vector<ShardInterval> deal;  ///< in the order of the view's slots
    std::string reason;               ///< "replica 2 takes 80 ms a shard; the slowest step falls from ..."
  };
  /// At most one for each step that all replicas have told of.
  std::optional<Move> decide();

 private:
  double seconds_per_shard(std::uint32_t slot) const;

  SheddingOptions options_;
  std::vector<std::uint32_t> slots_;
  std::vector<ShardInterval> deal_;
  std::map<std::uint32_t, std::deque<double>> times_;  // per shard, by slot
  std::map<std::uint32_t, std::uint64_t> steps_;       // last one told of, by slot
  std::uint64_t decided_ = 0;                          // last step that was decided on
  std::uint32_t promising_ = 0;
  std::uint32_t moves_ = 0;  // of late
  std::uint32_t calm_ = 0;   // steps without a promise
};

}  // namespace muster
