// All that a replica is between two rounds: what a checkpoint keeps and a newcomer is given. A replica that
// is restored from it goes on with the same bits, the same ledger and the same events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/messages/epoch_end.hpp"
#include "actors/messages/item.hpp"
#include "actors/rules/steps/ledger.hpp"
#include "actors/rules/steps/round_schedule.hpp"
#include "actors/rules/steps/step_events.hpp"
#include "transport/collective/transfer/transfer_payload.hpp"

namespace muster {

/// What a snapshot is taken for.
enum class SnapshotUse : std::uint8_t {
  checkpoint,       ///< one of those on the way
  last_checkpoint,  ///< at the end of the run, which waits for it
  parting,          ///< when the replica ends before the job
  donation,         ///< for a newcomer
};

/// A snapshot without its vectors: the place in the job, and what was counted on the way there. It is the
/// same on every replica, but for the slot in EpochEnd, which is not kept.
struct ReplicaPlace {
  std::uint64_t records = 0;      ///< rounds committed, over all views
  std::uint64_t record_hash = 0;  ///< of the last one
  Cursor cursor;                  ///< RoundSchedule::place
  DeferredBatches deferred;
  std::uint64_t steps = 0;
  bool finished = false;
  std::uint64_t samples = 0;
  Ledger ledger;              ///< with the open epoch's bits
  std::uint64_t dropped = 0;  ///< of the open epoch
  double epoch_loss = 0, epoch_weight = 0;
  StepEvents::Seen seen;
  EpochEnd closed;             ///< the last epoch that was closed; not told yet while the cursor evaluates it
  std::vector<EpochEnd> told;  ///< all epochs told so far, ascending
  std::string state_sha256;    ///< of the flat state; empty until it is needed
};

struct Snapshot {
  struct Slot {
    std::string name;
    std::vector<float> values;

    bool operator==(const Slot&) const = default;
  };

  ReplicaPlace place;
  std::vector<float> state;   ///< parameters, then buffers
  std::vector<Slot> slots;    ///< of the optimizer
  std::uint64_t history = 0;  ///< of the view in which it was taken; not encoded
};

/// Computes place.state_sha256 if it is not there yet. Costs a pass over the state: like encoding, not for a
/// thread that steps wait for.
void seal(Snapshot& snapshot);

/// What the job allows; a decoder believes no length beyond it.
struct SnapshotBounds {
  std::uint32_t shards = 0;
  std::size_t elements = 0;    ///< of the state, exactly
  std::size_t parameters = 0;  ///< of each slot, exactly
};

/// The place as bytes, with a SHA-256 of its own at the end. Equal places give equal bytes.
std::vector<std::byte> encode_place(const ReplicaPlace& place);
/// Nothing if the bytes are damaged, or not those of a job with so many shards.
std::optional<ReplicaPlace> decode_place(std::span<const std::byte> bytes, std::uint32_t shards);

/// The whole snapshot as bytes, with a SHA-256 at the end; the floats are not copied. Costs a pass over it:
/// not for a thread that steps wait for.
std::shared_ptr<const TransferPayload> snapshot_transfer(std::shared_ptr<const Snapshot> snapshot);

/// An encoded snapshot, read where it lies: floats as bytes.
struct SnapshotView {
  struct Slot {
    std::string name;
    std::span<const std::byte> values;
  };
  ReplicaPlace place;
  std::span<const std::byte> state;
  std::vector<Slot> slots;
};
/// Nothing if the bytes are damaged, or do not fit the bounds. Valid as long as the bytes.
std::optional<SnapshotView> view_snapshot(std::span<const std::byte> bytes, const SnapshotBounds& bounds);

}  // namespace muster
