// The messages by which a state and records come from one replica to another, within each node; between the
// nodes they are frames. Part of messages.hpp, which is the one to include and to read.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/messages/disk_retry.hpp"
#include "transport/collective/transfer/transfer_payload.hpp"
#include "transport/transport.hpp"

namespace muster {

struct ReplicaPlace;

/// node -> replica: gives its state, and what follows, to this peer.
struct DonateTo {
  std::uint32_t view = 0;
  PeerId peer = 0;
  bool ends = false;  ///< the peer is gone
};

/// A replica to itself: is this copy of its state ready for newcomers by now?
struct StateOverdue {
  std::uint32_t view = 0;
  std::uint64_t records = 0;
  std::chrono::nanoseconds waited{0};
  std::uint32_t looks = kLooksMax;
};

/// compute thread -> replica: a copy of its state at a boundary, ready to be sent.
struct StateCopied {
  std::uint32_t view = 0;
  PeerId to = 0;
  std::uint64_t records = 0;
  std::shared_ptr<const TransferPayload> transfer;
};

/// replica -> reducer: gives a record, or its whole state, to a peer that misses it; or says to its donor
/// how many records it has taken (each is a credit for one more); or gives elements of a sharded optimizer.
struct TransferOut {
  std::uint32_t view = 0;
  PeerId to = 0;
  std::uint64_t number = 0;  ///< of the record, from 1; of all else: records so far
  FrameKind kind = FrameKind::record;
  std::shared_ptr<const TransferPayload> transfer;                  ///< a record or a state; else null
  std::shared_ptr<const std::vector<std::byte>> payload = nullptr;  ///< elements of an optimizer; else null
};

/// data plane -> reducer -> replica: a TransferOut of another one.
struct TransferIn {
  std::uint32_t view = 0;
  PeerId from = 0;
  std::uint64_t number = 0;
  FrameKind kind = FrameKind::record;
  std::uint32_t waiting = 0;  ///< how many of later numbers the giver has for this replica
  std::shared_ptr<const std::vector<std::byte>> payload;
};

/// compute thread -> replica: how far the parts of a sharded optimizer are dealt in this view.
struct PartTaken {
  std::uint64_t turn = 0;
  bool gave = false;      ///< all that others need of what was held here is on its way
  bool complete = false;  ///< all that is held here now is there
  std::string error;
};

/// compute thread -> replica: the state that it was given is in place, and hashes as the donor's did; or that
/// of the checkpoint that all go back to.
struct Restored {
  std::uint64_t turn = 0;
  std::shared_ptr<const ReplicaPlace> place;
  std::string error;
  Unread unread = Unread::no;
  DiskTries tries;
};

}  // namespace muster
