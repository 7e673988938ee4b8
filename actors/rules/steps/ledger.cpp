#include "actors/rules/steps/ledger.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/check.hpp"
#include "muster/error.hpp"

namespace muster {

void Ledger::begin_epoch(std::uint64_t epoch, std::optional<std::uint64_t> samples, std::uint32_t shards) {
  MUSTER_CHECK(!state_.open && shards > 0, "epoch", state_.epoch, "shards", shards);
  state_.open = true;
  state_.epoch = epoch;
  state_.samples = samples;
  state_.shards.assign(shards, {});
  state_.used = 0;
  state_.repeated = 0;
}

std::uint64_t Ledger::shard_limit(std::uint32_t shard) const {
  if (!state_.samples) return kUnknownShardMax;
  return Dealing{*state_.samples, static_cast<std::uint32_t>(state_.shards.size()), 1, Remainder::keep}
      .shard_size(shard);
}

void Ledger::commit(std::uint64_t epoch, std::uint32_t shard, const Range& range) {
  const bool known = state_.open && epoch == state_.epoch && shard < state_.shards.size();
  if (!known || range.first > shard_limit(shard) || range.count > shard_limit(shard) - range.first) {
    throw Error("the ledger was given a range that cannot be: epoch " + std::to_string(epoch) + ", shard " +
                std::to_string(shard) + ", samples " + std::to_string(range.first) + " to " +
                std::to_string(range.first + range.count));
  }
  if (range.count == 0) return;
  auto& bits = state_.shards[shard];
  const std::uint64_t end = range.first + range.count;
  if (bits.words.size() < (end + 63) / 64) bits.words.resize((end + 63) / 64);
  for (std::uint64_t at = range.first; at < end;) {
    const std::uint64_t offset = at % 64;
    const std::uint64_t length = std::min(64 - offset, end - at);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - length)) << offset;
    auto& word = bits.words[at / 64];
    const auto again = static_cast<std::uint64_t>(std::popcount(word & mask));
    state_.repeated += again;
    state_.used += length - again;
    word |= mask;
    at += length;
  }
  bits.end = std::max(bits.end, end);
}

LedgerRow Ledger::row(bool complete, std::uint64_t dropped) const {
  std::uint64_t reached = 0;
  for (const auto& bits : state_.shards) reached += bits.end;
  const std::uint64_t owed = state_.samples ? *state_.samples - std::min(*state_.samples, dropped) : reached;
  const std::uint64_t missed = complete && owed > state_.used ? owed - state_.used : 0;
  return {state_.epoch, complete, state_.used, state_.repeated, missed, dropped};
}

LedgerRow Ledger::finish(bool complete, std::uint64_t dropped) {
  MUSTER_CHECK(state_.open);
  state_.rows.push_back(row(complete, dropped));
  state_.open = false;
  state_.shards.clear();
  return state_.rows.back();
}

std::optional<Ledger> Ledger::restored(LedgerState state, std::uint32_t shards) {
  Ledger ledger;
  ledger.state_ = std::move(state);
  const LedgerState& held = ledger.state_;
  if (held.shards.size() != (held.open ? shards : 0)) return std::nullopt;
  std::uint64_t used = 0;
  for (std::uint32_t shard = 0; shard < held.shards.size(); ++shard) {
    const ShardBits& bits = held.shards[shard];
    if (bits.end > ledger.shard_limit(shard) || bits.words.size() != (bits.end + 63) / 64)
      return std::nullopt;
    for (const std::uint64_t word : bits.words) used += static_cast<std::uint64_t>(std::popcount(word));
    if (bits.end > 0 && bits.words.back() >> ((bits.end - 1) % 64) != 1) return std::nullopt;
  }
  if (held.open && used != held.used) return std::nullopt;
  return ledger;
}

}  // namespace muster
