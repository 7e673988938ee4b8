// Which shards add something to a round, and what they add to the divisor: from the headers of all members.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/collective/rounds/kept.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

/// Whether some shard of this member has samples in the round.
bool has_samples(const RoundHeader& header);

struct Presence {
  bool any = false;          ///< some shard of some member has samples
  std::vector<bool> shards;  ///< those that are leaves of the round's tree; empty where it has no sums
  double weight = 0;         ///< the divisor; 0 where the round has no sums

  /// For the next round. Memory stays.
  void reset();
  /// All headers are in. `with_sums`: the round is of a kind that has some.
  void read(const std::vector<Kept<RoundHeader>>& headers, std::uint32_t shard_count, bool with_sums);

 private:
  std::vector<double> weights_;
};

}  // namespace muster
