#include "actors/messages/dealing.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster {

std::uint64_t Dealing::shard_size(std::uint32_t shard) const {
  MUSTER_CHECK(shard < shards, "shard", shard, "shards", shards);
  return samples / shards + (shard < samples % shards ? 1 : 0);
}

std::uint64_t Dealing::steps_per_epoch() const {
  MUSTER_CHECK(shards > 0 && batch > 0, "shards", shards, "batch", batch);
  if (remainder == Remainder::drop) return samples / (std::uint64_t{shards} * batch);
  const std::uint64_t longest = shard_size(0);
  return longest / batch + (longest % batch != 0 ? 1 : 0);
}

std::optional<Range> Dealing::range(std::uint32_t shard, std::uint64_t step) const {
  if (step >= steps_per_epoch()) return std::nullopt;
  const std::uint64_t size = shard_size(shard);
  const std::uint64_t first = step * batch;
  if (first >= size) return std::nullopt;
  return Range{first, static_cast<std::uint32_t>(std::min<std::uint64_t>(batch, size - first))};
}

std::uint64_t Dealing::dropped() const {
  if (remainder != Remainder::drop) return 0;
  return samples - steps_per_epoch() * shards * batch;
}

}  // namespace muster
