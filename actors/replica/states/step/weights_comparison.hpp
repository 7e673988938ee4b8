// The hashes of a replica's weights that are compared with those of the other members: of a block with each
// round, and of all weights in a round of its own, before anything depends on them that outlives the view.
// Pure. For one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "actors/messages/view.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

class WeightsComparison {
 public:
  /// Whether members compare all their weights at so many records. `at_end`: of the job; `checkpoint`: one is
  /// due here.
  bool due(const View& view, std::uint64_t records, bool at_end, bool checkpoint) const;
  /// This replica's hash of all weights; what the round compares.
  void weighed(const WeightsHash& whole) { whole_ = whole; }
  /// The round is over: all members have these weights at so many records.
  void compared(std::uint32_t view, std::uint64_t records) { at_ = {view, records}; }
  /// The hash of all weights that members have at so many records, if they were compared there.
  std::optional<WeightsHash> known(std::uint32_t view, std::uint64_t records) const;

  /// A block of the weights behind the last step; it goes with the next round.
  void block_weighed(const WeightsHash& block) { block_ = block; }
  /// Another state is in place.
  void forget_block() { block_ = {}; }
  const WeightsHash& block() const { return block_; }

 private:
  std::pair<std::uint32_t, std::uint64_t> at_{0, 0};  // view and records of the last comparison of all
  WeightsHash whole_;
  WeightsHash block_;
};

inline bool WeightsComparison::due(const View& view, std::uint64_t records, bool at_end,
                                   bool checkpoint) const {
  if (view.replicas.size() < 2 || at_ == std::pair(view.number, records)) return false;
  // States or records were given, by one to another or by a disk.
  const bool given = !view.unproven.empty() || !view.behind.empty() || view.back;
  return (given && at_.first != view.number) || view.last || at_end || checkpoint;
}

inline std::optional<WeightsHash> WeightsComparison::known(std::uint32_t view, std::uint64_t records) const {
  return at_ == std::pair(view, records) ? std::optional(whole_) : std::nullopt;
}

}  // namespace muster
