// What a reduction is told of its view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/collective/algorithms/algorithm.hpp"
#include "transport/collective/sums/fold_unit.hpp"
#include "transport/collective/sums/part_update.hpp"
#include "transport/collective/sums/shard_copies.hpp"
#include "transport/collective/sums/wire.hpp"
#include "transport/transport.hpp"

namespace muster {

/// One member of a view as the reduction sees it: its number for the transport, which it keeps over all
/// views, and its shards, [begin, end).
struct ReductionMember {
  PeerId peer = 0;
  std::uint64_t incarnation = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t host = 0;  ///< members with the same number are on the same host
  /// The place of the member that backs up this one's range (sharded) or the states of its shards; its own:
  /// none.
  std::uint32_t buddy = 0;
};

struct ReductionShape {
  std::uint32_t view = 0;
  std::uint32_t self = 0;  ///< this member's place in the list
  std::uint32_t shards = 0;
  std::size_t elements = 0;         ///< float32 elements of the vector
  std::uint32_t sum_number = 0;     ///< by which frames name the sum of this shape among those of a round
  std::size_t sketch_elements = 0;  ///< of that of a sketch (RoundKind::sketch); 0: there are none
  std::size_t chunk_elements = 128 * 1024;
  std::size_t bucket_elements = 0;  ///< what goes out as one while the rest is computed (buckets.hpp)
  bool backup_workers = false;      ///< whether a member may add nodes of another one
  bool goes_on_unlike = false;      ///< members with other bits are told of, once, and go on together
  Algorithm algorithm = Algorithm::direct;
  /// Whether members of one host read each other's memory: what the variants of writing (variant_choice.hpp)
  /// cost is then measured.
  bool shares_memory = false;
  /// Whether rounds may be summed up by `one_shot` as well, where that is measured to take the members less
  /// time; not with `backup_workers`, nor `sharded`.
  bool one_shot_too = false;
  Wire wire;            ///< of the sums and results between hosts
  bool sparse = false;  ///< sums are mostly +0: between hosts they travel sparse (sparse.hpp)
  std::vector<ReductionMember> members;
  /// Whether the owner of a range updates it, so that results are new parameters; and what does that.
  bool sharded = false;
  std::shared_ptr<PartUpdate> update;  ///< not needed for a plan or its cost
  /// The states of shards, where they have some.
  std::shared_ptr<ShardCopies> copies;
  std::size_t copy_elements = 0;  ///< of each
  /// What adds up, where that is not the host: sums, staging and result lie in its memory. Not with `wire`,
  /// `sparse`, `backup_workers`, `sharded`, `copies` or `one_shot_too`; not needed for a plan or its cost.
  std::shared_ptr<FoldUnit> unit;

  /// Whether a payload that goes to or comes from a member is made smaller: sums and results, between hosts;
  /// but parameters are neither rounded nor mostly 0.
  bool shrinks(FrameKind kind, std::uint32_t member) const {
    const bool gradients = kind == FrameKind::contribution || (kind == FrameKind::result && !sharded);
    return gradients && members[member].host != members[self].host;
  }
  /// Whether it is packed into 16 bits.
  bool packs(FrameKind kind, std::uint32_t member) const { return wire.rounds() && shrinks(kind, member); }
  /// Whether it may be sparse.
  bool thins(FrameKind kind, std::uint32_t member) const { return sparse && shrinks(kind, member); }
};

}  // namespace muster
