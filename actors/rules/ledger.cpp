#include "muster/actors/rules/ledger.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "muster/config/check.hpp"
#include "muster/config/error.hpp"

namespace muster {

void Ledger::begin_epoch(std::uint64_t epoch, std::optional<std::uint64_t> samples, std::uint32_t shards) {
  MUSTER_CHECK(!open_ && shards > 0, "epoch", epoch_, "shards", shards);
  open_ = true;
  epoch_ = epoch;
  samples_ = samples;
  shards_.assign(shards, {});
  used_ = 0;
  repeated_ = 0;
}

std::uint64_t Ledger::shard_limit(std::uint32_t shard) const {
  if (!samples_) return kUnknownShardMax;
  return Dealing{*samples_, static_cast<std::uint32_t>(shards_.size()), 1, Remainder::keep}.shard_size(shard);
}

void Ledger::commit(std::uint64_t epoch, std::uint32_t shard, const Range& range) {
  const bool known = open_ && epoch == epoch_ && shard < shards_.size();
  if (!known || range.first > shard_limit(shard) || range.count > shard_limit(shard) - range.first) {
    throw Error(Advice::report_bug, "the ledger was given a range that cannot be: epoch " +
                                        std::to_string(epoch) + ", shard " + std::to_string(shard) +
                                        ", samples " + std::to_string(range.first) + " to " +
                                        std::to_string(range.first + range.count));
  }
  if (range.count == 0) return;
  auto& bits = shards_[shard];
  const std::uint64_t end = range.first + range.count;
  if (bits.words.size() < (end + 63) / 64) bits.words.resize((end + 63) / 64);
  for (std::uint64_t at = range.first; at < end;) {
    const std::uint64_t offset = at % 64;
    const std::uint64_t length = std::min(64 - offset, end - at);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - length)) << offset;
    auto& word = bits.words[at / 64];
    const auto again = static_cast<std::uint64_t>(std::popcount(word & mask));
    repeated_ += again;
    used_ += length - again;
    word |= mask;
    at += length;
  }
  bits.end = std::max(bits.end, end);
}

LedgerRow Ledger::row(bool complete, std::uint64_t dropped) const {
  std::uint64_t reached = 0;
  for (const auto& bits : shards_) reached += bits.end;
  const std::uint64_t owed = samples_ ? *samples_ - std::min(*samples_, dropped) : reached;
  const std::uint64_t missed = complete && owed > used_ ? owed - used_ : 0;
  return {epoch_, complete, used_, repeated_, missed, dropped};
}

LedgerRow Ledger::finish(bool complete, std::uint64_t dropped) {
  MUSTER_CHECK(open_);
  rows_.push_back(row(complete, dropped));
  open_ = false;
  shards_.clear();
  return rows_.back();
}

}  // namespace muster
