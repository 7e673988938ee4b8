// A replica's side of a round: the header that it opens it with, what it contributes, and which of its shards
// take no part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/states/step/audit_round.hpp"

namespace muster {

/// `block`: the hash of a block of the weights, which is compared with the round.
RoundHeader round_header(const ReplicaContext& context, RoundKind kind, const WeightsHash& block);

/// This replica's part of the round is done; from here on it waits for others.
void contribute(const ReplicaContext& context, AuditRound::Part part);

/// Whether the next round goes on without the shard, because it was late. What is owed is waited for.
bool left_out(const View& view, const TrainingPosition& position, std::uint32_t shard);

/// The model failed with the micro-batch of this shard at the cursor; without a shard, with all of them.
void model_failed(const ReplicaContext& context, const Cursor& cursor, std::optional<std::uint32_t> shard,
                  const std::string& error);

}  // namespace muster
