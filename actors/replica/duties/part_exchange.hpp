// The part that a replica holds (part.hpp): dealt anew before the first round of a view, and given to the one
// that writes a checkpoint. For one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/states/part_deal.hpp"

namespace muster {

/// What is gathered for a checkpoint by the replica in slot `writer`, which has none of it.
std::vector<PartMove> moves_to_writer(const TrainerState& trainer, const View& view, std::uint32_t writer);

class PartExchange {
 public:
  explicit PartExchange(const ReplicaContext& context) : context_(context) {}

  const PartDeal& deal() const { return deal_; }

  /// A view in which this replica is to hold `part`.
  void enter(std::shared_ptr<Part> part);
  /// All stand at the same record: each gives what the others need of what it holds.
  void begin();
  /// What it needs of another one.
  void take(const TransferIn& message);
  /// Whether all is dealt now, and the rounds begin.
  [[nodiscard]] bool on(const PartTaken& message);
  /// Nothing has to be dealt: all have what they need.
  void skip() { deal_.skip(); }
  /// A record of this view was taken. False: it is not the first one.
  bool take_effect();

  /// To the first replica of the view, which writes a checkpoint of this place.
  void give_for_checkpoint();

 private:
  const ReplicaContext& context_;
  PartDeal deal_;
};

}  // namespace muster
