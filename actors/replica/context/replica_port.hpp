// The way out of a replica: every message that it sends, to whom, and the clock. The actor has one that sends
// through CAF (replica.cpp); a unit test has one that keeps what is sent.
#pragma once

#include <chrono>
#include <functional>
#include <variant>

#include "actors/messages/messages.hpp"

namespace muster {

class ReplicaPort {
 public:
  using ToNode = std::variant<AuditShardRequest, CaughtUp, Checkpointed, Compared, EpochEnd, Failing, Halted,
                              Progress, Raised, ReplicaDone, StateKept, Trouble, WentBack>;
  using ToReducer = std::variant<Open, Offer, Contribute, TransferOut>;
  /// What other threads answer to the replica.
  using Answer = std::variant<Audited, Computed, Hashed, PartTaken, Restored, Snapped, StateCopied, Updated,
                              Weighed, Written>;
  using Later = std::variant<ReadAgain, WriteAgain, WriteOverdue, StateOverdue>;

  virtual ~ReplicaPort() = default;

  virtual std::chrono::nanoseconds now() const = 0;

  // --- for the replica's own thread

  virtual void to_node(ToNode message) = 0;
  /// To that of the view at hand.
  virtual void to_reducer(ToReducer message) = 0;
  virtual void to_shard(const caf::strong_actor_ptr& shard, const Need& need) = 0;
  /// The replica sends this to itself, after so long.
  virtual void to_self(std::chrono::nanoseconds after, Later message) = 0;

  // --- what any thread may call, at any time from now on

  virtual std::function<void(ToNode)> posts_to_node() const = 0;
  /// To that of the view at hand now, even if the replica is in a later one by then.
  virtual std::function<void(ToReducer)> posts_to_reducer() const = 0;
  virtual std::function<void(Answer)> posts_answers() const = 0;
};

}  // namespace muster
