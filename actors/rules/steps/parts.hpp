// Who holds which part of what not every replica has, and what moves from one view to the next: pure rules,
// the same on every node. Each part has a second holder, its owner's buddy.
//
// Of a sharded optimizer's vectors (train.shard_optimizer) part i is the range of the i-th owner in each
// bucket of the reduction, so whoever forms the mean gradient of an element also updates it. The states of
// shards (train.compression) are with who computes the shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/messages/view.hpp"
#include "transport/collective/sums/buckets.hpp"

namespace muster {

/// The buddy of each member, by its place: a member on another host where there is one, else the next one. On
/// hosts of equal size no two have the same buddy. Alone: itself.
std::vector<std::uint32_t> buddies(const std::vector<std::string>& hosts);
/// The same, but on the own host: the next one there; if there is none, itself.
std::vector<std::uint32_t> buddies_within_hosts(const std::vector<std::string>& hosts);

/// The holders of the parts of this view, in the order of its replicas.
std::vector<PartHolder> holders_in(const View& view);

/// A range of the flat vector that has one owner.
struct PartTile {
  ElementRange elements;
  PartHolder holder;
};
/// They lie one behind the other, without a gap, from 0 to `elements`.
std::vector<PartTile> part_tiles(std::size_t elements, std::size_t bucket_elements,
                                 const std::vector<PartHolder>& holders);

/// Elements that one replica gives to another, or has already (from == to).
struct PartMove {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  ElementRange elements;  ///< at most kElementsMax

  static constexpr std::size_t kElementsMax = 256 * 1024;
};

/// What brings the vectors from their holders (`source`) to those of the next view (`target`): the elements
/// below `parameters`. The two tile the same vector. Whoever holds what it needs keeps it; else the owner
/// gives it, or, if that one is not `present`, its buddy. In the order of the elements.
std::vector<PartMove> part_moves(const std::vector<PartTile>& source, const std::vector<PartTile>& target,
                                 const std::set<std::uint32_t>& present, std::size_t parameters);

/// What one who writes a checkpoint is given by the owners, cut in the same way.
std::vector<PartMove> parts_for(std::uint32_t writer, const std::vector<PartTile>& tiles,
                                std::size_t parameters);

/// Where the vectors are when a view ends. `took`: the latest view of which a member that is left has taken a
/// record.
PartSource source_after(const View& ended, std::uint32_t took);

/// A part of which no holder is left; nothing if each has one. Parts that come from a checkpoint are not
/// lost.
std::optional<PartHolder> lost_part(const PartSource& source, const std::set<std::uint32_t>& left);
/// Whether this replica holds one, as owner or as buddy.
bool holds_part(const PartSource& source, std::uint32_t slot);

}  // namespace muster
