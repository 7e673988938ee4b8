// The record of a round, from what its members have reported. Pure.
#pragma once

#include <cstdint>

#include "transport/collective/reduction/presence.hpp"
#include "transport/collective/reduction/round_reports.hpp"
#include "transport/collective/rounds/round.hpp"

namespace muster {

/// Fills in what the reports say: round, shards and metrics in the order of shards, weight, and the hash of
/// all that, which goes on with the record before. The headers of all are in. `record`: an empty one.
void write_reports(const RoundReports& reports, const Presence& presence, std::uint32_t shards,
                   RoundRecord& record);

}  // namespace muster
