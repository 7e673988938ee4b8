#include "actors/rules/steps/parts.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster {

std::vector<std::uint32_t> buddies(const std::vector<std::string>& hosts) {
  const auto members = static_cast<std::uint32_t>(hosts.size());
  std::vector<std::uint32_t> result;
  for (std::uint32_t member = 0; member < members; ++member) {
    std::vector<std::uint32_t> elsewhere;  // those behind this one's host first
    std::uint32_t before = 0;              // on its own host
    std::uint32_t last = member;
    for (std::uint32_t other = 0; other < members; ++other) {
      if (hosts[other] != hosts[member]) continue;
      before += other < member ? 1 : 0;
      last = std::max(last, other);
    }
    for (std::uint32_t turn = 1; turn < members; ++turn) {
      const std::uint32_t other = (last + turn) % members;
      if (hosts[other] != hosts[member]) elsewhere.push_back(other);
    }
    result.push_back(elsewhere.empty() ? (member + 1) % members : elsewhere[before % elsewhere.size()]);
  }
  return result;
}

std::vector<std::uint32_t> buddies_within_hosts(const std::vector<std::string>& hosts) {
  const auto members = static_cast<std::uint32_t>(hosts.size());
  std::vector<std::uint32_t> result;
  for (std::uint32_t member = 0; member < members; ++member) {
    std::uint32_t next = (member + 1) % members;
    while (hosts[next] != hosts[member]) next = (next + 1) % members;
    result.push_back(next);
  }
  return result;
}

std::vector<PartHolder> holders_in(const View& view) {
  std::vector<PartHolder> holders;
  for (const Member& member : view.replicas)
    holders.push_back({member.name.slot, member.buddy, member.begin, member.end});
  return holders;
}

std::vector<PartTile> part_tiles(std::size_t elements, std::size_t bucket_elements,
                                 const std::vector<PartHolder>& holders) {
  std::vector<PartTile> tiles;
  const Buckets buckets(elements, bucket_elements);
  for (std::size_t bucket = 0; bucket < buckets.count(); ++bucket) {
    for (std::size_t owner = 0; owner < holders.size(); ++owner) {
      const ElementRange range = range_of_owner(buckets[bucket], owner, holders.size());
      if (range.count() > 0) tiles.push_back({range, holders[owner]});
    }
  }
  return tiles;
}

namespace {

void add_move(std::vector<PartMove>& moves, std::uint32_t from, std::uint32_t to, ElementRange elements) {
  for (std::size_t begin = elements.begin; begin < elements.end; begin += PartMove::kElementsMax)
    moves.push_back({from, to, {begin, std::min(begin + PartMove::kElementsMax, elements.end)}});
}

std::uint32_t giver(const PartHolder& holder, std::uint32_t to, const std::set<std::uint32_t>& present) {
  if (holder.owner == to || holder.buddy == to) return to;
  return present.contains(holder.owner) ? holder.owner : holder.buddy;
}

}  // namespace

std::vector<PartMove> part_moves(const std::vector<PartTile>& source, const std::vector<PartTile>& target,
                                 const std::set<std::uint32_t>& present, std::size_t parameters) {
  std::vector<PartMove> moves;
  std::size_t begin = 0;
  for (std::size_t s = 0, t = 0; begin < parameters;) {
    MUSTER_CHECK(s < source.size() && t < target.size(), begin, parameters);
    const PartTile &from = source[s], &to = target[t];
    const std::size_t end = std::min({from.elements.end, to.elements.end, parameters});
    const std::set<std::uint32_t> receivers{to.holder.owner, to.holder.buddy};
    for (const std::uint32_t receiver : receivers)
      add_move(moves, giver(from.holder, receiver, present), receiver, {begin, end});
    begin = end;
    if (from.elements.end == end) ++s;
    if (to.elements.end == end) ++t;
  }
  return moves;
}

std::vector<PartMove> parts_for(std::uint32_t writer, const std::vector<PartTile>& tiles,
                                std::size_t parameters) {
  std::vector<PartMove> moves;
  for (const PartTile& tile : tiles) {
    const ElementRange elements{tile.elements.begin, std::min(tile.elements.end, parameters)};
    if (elements.begin < elements.end) add_move(moves, tile.holder.owner, writer, elements);
  }
  return moves;
}

// Who takes a record of a view knows that all have dealt the parts anew: each header of its first round says
// so. Until then everyone keeps what it held before.
PartSource source_after(const View& ended, std::uint32_t took) {
  if (took != ended.number) return ended.source;
  return {ended.number, holders_in(ended), ended.source.checkpoint, ended.source.records, ended.source.step};
}

bool holds_part(const PartSource& source, std::uint32_t slot) {
  return std::ranges::any_of(source.holders, [slot](const PartHolder& holder) {
    return holder.owner == slot || holder.buddy == slot;
  });
}

std::optional<PartHolder> lost_part(const PartSource& source, const std::set<std::uint32_t>& left) {
  for (const PartHolder& holder : source.holders) {
    if (!left.contains(holder.owner) && !left.contains(holder.buddy)) return holder;
  }
  return std::nullopt;
}

}  // namespace muster
