#include "actors/replica/context/own_round.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace muster {

RoundHeader round_header(const ReplicaContext& context, RoundKind kind, const WeightsHash& block) {
  RoundHeader header;
  header.round = context.round;
  header.kind = kind;
  header.epoch = context.schedule().cursor().epoch;
  header.step = context.schedule().steps() + 1;
  header.applied = context.schedule().steps();
  header.record_hash = context.position->record_hash();
  header.weights = block;
  return header;
}

void contribute(const ReplicaContext& context, AuditRound::Part part) {
  context.show(Activity::reducing);
  const std::shared_ptr<const void> keep = part.nodes.empty() ? nullptr : context.setup.trainer;
  context.port->to_reducer(Contribute{context.view().number, context.round, std::move(part.nodes),
                                      std::move(part.metrics), keep, 0, std::move(part.audits)});
}

bool left_out(const View& view, const TrainingPosition& position, std::uint32_t shard) {
  const Dropping& dropping = view.dropping;
  if (position.records() != view.records || dropping.record != position.records() + 1 ||
      position.schedule().replaying())
    return false;
  return std::any_of(dropping.shards.begin(), dropping.shards.end(),
                     [&](const ShardRange& range) { return range.holds(shard); });
}

void model_failed(const ReplicaContext& context, const Cursor& cursor, std::optional<std::uint32_t> shard,
                  const std::string& error) {
  if (!shard) return context.trouble("the model failed: " + error);
  const ErrorPlace at = place_of(cursor, *shard);
  context.port->to_node(Trouble{"the model failed at " + at.text() + ": " + error, {}, at});
}

}  // namespace muster
