// The actors: what each receives. Part of messages.hpp, which is the one to include and to read.
#pragma once

#include <caf/all.hpp>

#include "actors/messages/bits_messages.hpp"
#include "actors/messages/checkpoint_messages.hpp"
#include "actors/messages/end_messages.hpp"
#include "actors/messages/reach_messages.hpp"
#include "actors/messages/report_messages.hpp"
#include "actors/messages/status_messages.hpp"
#include "actors/messages/step_messages.hpp"
#include "actors/messages/transfer_messages.hpp"
#include "actors/messages/view_messages.hpp"
#include "muster/observer.hpp"

namespace muster {

// ------------------------------------------------------------ the actors

/// Keeps the membership, decides views, collects what is told. Not on the path of a step.
using coordinator_actor =
    caf::typed_actor<caf::reacts_to<Join>, caf::reacts_to<Prepared>, caf::reacts_to<Installed>,
                     caf::reacts_to<Closed>, caf::reacts_to<CaughtUp>, caf::reacts_to<Leaving>,
                     caf::reacts_to<Adopt>, caf::reacts_to<Raised>, caf::reacts_to<Progress>,
                     caf::reacts_to<EpochEnd>, caf::reacts_to<ReplicaDone>, caf::reacts_to<Heartbeat>,
                     caf::reacts_to<HeldUp>, caf::reacts_to<Failing>, caf::reacts_to<ChildEnded>,
                     caf::reacts_to<StopRequest>, caf::reacts_to<Tick>, caf::reacts_to<Checkpointed>,
                     caf::reacts_to<UnlikeBits>, caf::reacts_to<WentBack>, caf::reacts_to<Reached>,
                     caf::replies_to<StatusRequest>::with<RunStatus>>;

/// process -> its node: the coordinator was found again.
struct NewCoordinator {
  coordinator_actor coordinator;
};

}  // namespace muster

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(muster::NewCoordinator)

namespace muster {

/// One process (or one in-process replica): makes and ends what works in it.
using node_actor = caf::typed_actor<
    caf::reacts_to<Welcome>, caf::reacts_to<Ready>, caf::reacts_to<Install>, caf::reacts_to<RoundDone>,
    caf::reacts_to<Begin>, caf::reacts_to<Close>, caf::reacts_to<Observe>, caf::reacts_to<Donate>,
    caf::reacts_to<Installed>, caf::reacts_to<CaughtUp>, caf::reacts_to<Leaving>, caf::reacts_to<Halted>,
    caf::reacts_to<Stalled>, caf::reacts_to<Starved>, caf::reacts_to<Trouble>, caf::reacts_to<Failing>,
    caf::reacts_to<Raised>, caf::reacts_to<Progress>, caf::reacts_to<EpochEnd>, caf::reacts_to<ReplicaDone>,
    caf::reacts_to<Tick>, caf::reacts_to<Stop>, caf::reacts_to<Pulse>, caf::reacts_to<NewCoordinator>,
    caf::reacts_to<Adopted>, caf::reacts_to<StateKept>, caf::reacts_to<Checkpointed>,
    caf::reacts_to<AuditShardRequest>, caf::reacts_to<UnlikeBits>, caf::reacts_to<Compared>,
    caf::reacts_to<WentBack>, caf::reacts_to<Reach>, caf::reacts_to<Reached>>;

/// Reads micro-batches for shards, on its executor.
using loader_actor = caf::typed_actor<caf::reacts_to<Demand>>;

/// Holds one shard's micro-batches ready, within its credits.
using shard_actor =
    caf::typed_actor<caf::reacts_to<Need>, caf::reacts_to<Delivery>, caf::reacts_to<RemoteDelivery>>;

/// One device with a full copy of the model: computes its shards' gradients and applies each step.
using replica_actor =
    caf::typed_actor<caf::reacts_to<Begin>, caf::reacts_to<MicroBatch>, caf::reacts_to<Computed>,
                     caf::reacts_to<RoundDone>, caf::reacts_to<Updated>, caf::reacts_to<Hashed>,
                     caf::reacts_to<Snapped>, caf::reacts_to<Written>, caf::reacts_to<ViewClosed>,
                     caf::reacts_to<Assignment>, caf::reacts_to<TransferIn>, caf::reacts_to<Observing>,
                     caf::reacts_to<DonateTo>, caf::reacts_to<StateCopied>, caf::reacts_to<Restored>,
                     caf::reacts_to<Adopted>, caf::reacts_to<RunBackupTask>, caf::reacts_to<KeepState>,
                     caf::reacts_to<PartTaken>, caf::reacts_to<WriteAgain>, caf::reacts_to<ReadAgain>,
                     caf::reacts_to<AuditShardReply>, caf::reacts_to<Audited>, caf::reacts_to<Weighed>,
                     caf::reacts_to<WriteOverdue>, caf::reacts_to<StateOverdue>>;

/// The way from a replica to the reduction on the data plane, and back.
using reducer_actor =
    caf::typed_actor<caf::reacts_to<Open>, caf::reacts_to<Offer>, caf::reacts_to<Contribute>,
                     caf::reacts_to<RoundDone>, caf::reacts_to<ViewClosed>, caf::reacts_to<TransferOut>,
                     caf::reacts_to<TransferIn>>;

}  // namespace muster
