// Audits: the gradient of a shard is computed by a second replica, too, and both say its hash with their
// losses, before the step is applied. This duty asks for the shards that this replica audits, and holds back
// its own part of the round until they are done. For one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actors/replica/context/replica_context.hpp"
#include "actors/replica/states/step/audit_round.hpp"
#include "actors/replica/states/step/batch_gathering.hpp"
#include "actors/replica/states/step/proof.hpp"

namespace muster {

class Audits {
 public:
  /// `batches`: of the step at hand.
  Audits(const ReplicaContext& context, const BatchGathering& batches)
      : context_(context), batches_(batches) {}

  // --- views

  void enter() { proof_.enter(context_.view(), context_.setup.slot); }
  /// The round is over, or the view.
  void give_up() { round_.give_up(); }
  /// This replica is given another state: what it computes from it is compared anew.
  void forget_own_proof() { proof_.forget_own(); }
  /// Whether this replica's gradients were compared with another one's.
  bool proven() const { return proof_.own(); }

  // --- a step

  /// The step at this cursor begins: the first shard to audit is asked for.
  void begin(const Cursor& cursor);
  void on(const AuditShardReply& message);
  /// Whether the item is of the shard that was asked for.
  bool take(const Item& item);
  /// The replica's own shards are under way: what is audited comes behind them.
  void own_begun() { round_.own_begun(); }
  /// The shard of this replica that another one computes, too.
  std::optional<std::uint32_t> audited_here() const;
  void compute_if_ready();
  void on(const Audited& message);
  /// The replica's own shards are done. The part is contributed as soon as all audits are.
  void own_done(AuditRound::Part part);

  /// A step of this view was applied: what its audits have shown.
  void prove(const RoundRecord& record);

 private:
  void ask();
  void contribute_if_complete();

  const ReplicaContext& context_;
  const BatchGathering& batches_;
  AuditRound round_;
  Proof proof_;
};

}  // namespace muster
