#include "actors/trainer/shard_states.hpp"

#include <algorithm>

#include "actors/checkpoint/snapshot.hpp"
#include "base/canary.hpp"
#include "base/check.hpp"
#include "muster/error.hpp"
#include "transport/quarantine.hpp"

namespace muster {

namespace {
constexpr std::size_t kChunk = std::size_t{16} << 10;  // elements that stay in the cache
constexpr const char* kSlot = "error_feedback.";
}  // namespace

std::vector<PartTile> state_tiles(const StatesShape& shape, const std::vector<PartHolder>& holders) {
  std::vector<PartTile> tiles;
  for (const PartHolder& holder : holders) {
    for (std::uint32_t shard = holder.begin; shard < holder.end; ++shard)
      tiles.push_back({{shard * shape.elements, (shard + 1) * shape.elements}, holder});
  }
  std::sort(tiles.begin(), tiles.end(),
            [](const PartTile& a, const PartTile& b) { return a.elements.begin < b.elements.begin; });
  return tiles;
}

std::string state_slot(std::uint32_t shard) {
  return kSlot + std::to_string(shard);
}

bool is_state_slot(const std::string& name) {
  return name.rfind(kSlot, 0) == 0;
}

ShardStates::ShardStates(const StatesShape& shape, const std::vector<PartHolder>& holders, std::uint32_t self)
    : shape_(shape) {
  for (const PartHolder& holder : holders) {
    if (holder.owner != self && holder.buddy != self) continue;
    for (std::uint32_t shard = holder.begin; shard < holder.end; ++shard)
      held_[shard] = {nullptr, holder.owner == self, false};
  }
}

// ---- within a step

ShardStates::State& ShardStates::state(std::uint32_t shard) const {
  const auto found = held_.find(shard);
  MUSTER_CHECK(found != held_.end() && found->second.state, shard);
  return *found->second.state;
}

void ShardStates::compress(std::uint32_t shard, std::uint64_t step, std::span<float> gradient) {
  State& state = this->state(shard);
  compressor_->compress(gradient, state.now, state.next);
  // What the wire rounds off would be lost otherwise.
  for (std::size_t begin = 0; shape_.wire.rounds() && begin < gradient.size(); begin += kChunk) {
    const auto chunk = gradient.subspan(begin, std::min(kChunk, gradient.size() - begin));
    std::copy(chunk.begin(), chunk.end(), exact_.begin());
    round_to(shape_.wire, chunk.size(), chunk.data());
    for (std::size_t i = 0; i < chunk.size(); ++i) state.next[begin + i] += exact_[i] - chunk[i];
  }
  state.made = step;
}

std::span<const float> ShardStates::made(std::uint32_t shard) const {
  return state(shard).next;
}

std::span<float> ShardStates::copy(std::uint32_t shard) {
  return state(shard).next;
}

void ShardStates::kept(std::uint32_t shard, std::uint64_t step) {
  state(shard).made = step;
}

void ShardStates::abandoned(std::uint32_t shard) {
  State& state = this->state(shard);
  quarantine(std::exchange(state.next, Floats(shape_.elements)));
  state.made = 0;
}

// A shard that took no part keeps its state.
void ShardStates::commit(std::uint64_t step, const std::vector<ShardReport>& shards) {
  for (const ShardReport& report : shards) {
    const auto found = held_.find(report.shard);
    if (!report.present() || found == held_.end()) continue;
    State& state = *found->second.state;
    if (state.made != step) {
      throw Error("the state of shard " + std::to_string(report.shard) + " after step " +
                  std::to_string(step) + " is not there, but that after step " + std::to_string(state.made));
    }
    state.made = 0;  // no step is followed twice
    if (!canary("keeps-old-state")) state.now.swap(state.next);
  }
}

// ---- from view to view

void ShardStates::prepare(const Part* before) {
  const auto* mine = dynamic_cast<const ShardStates*>(before);
  for (auto& [shard, held] : held_) {
    const auto had = mine ? mine->held_.find(shard) : held_.end();
    held.had = mine && had != mine->held_.end();
    held.state = held.had
                     ? had->second.state
                     : std::make_shared<State>(State{Floats(shape_.elements), Floats(shape_.elements), 0});
  }
  if (shape_.ratio > 0) compressor_ = std::make_unique<TopK>(shape_.elements, shape_.ratio);
  if (shape_.wire.rounds()) exact_.resize(std::min(kChunk, shape_.elements));
}

bool ShardStates::keeps(ElementRange elements) const {
  const auto held = held_.find(static_cast<std::uint32_t>(elements.begin / shape_.elements));
  return held != held_.end() && held->second.had;
}

void ShardStates::expect(const std::vector<PartMove>& moves) {
  for (const PartMove& move : moves) {
    if (!keeps(move.elements)) expected_.add(move.elements);
  }
}

// They are all of one shard.
std::span<float> ShardStates::now(ElementRange elements) const {
  State& one = state(static_cast<std::uint32_t>(elements.begin / shape_.elements));
  const std::size_t at = elements.begin % shape_.elements;
  MUSTER_CHECK(at + elements.count() <= shape_.elements, elements.begin, elements.end);
  return std::span(one.now).subspan(at, elements.count());
}

std::vector<std::byte> ShardStates::give(ElementRange elements) const {
  return encode_given(elements, {now(elements)});
}

void ShardStates::take(std::span<const std::byte> bytes) {
  const GivenElements given = decode_given(bytes, 1);
  if (!expected_.strike_out(given.elements)) return;
  std::copy(given.vectors[0].begin(), given.vectors[0].end(), now(given.elements).begin());
}

// ---- checkpoints

void ShardStates::fill_from(const Snapshot& snapshot) {
  expected_.clear();
  for (const auto& [shard, held] : held_) {
    const auto found =
        std::find_if(snapshot.slots.begin(), snapshot.slots.end(),
                     [name = state_slot(shard)](const Snapshot::Slot& slot) { return slot.name == name; });
    if (found == snapshot.slots.end() || found->values.size() != shape_.elements) {
      throw Error("the checkpoint has no state of shard " + std::to_string(shard) +
                  ": it is of a job without train.compression");
    }
    held.state->now.assign(found->values.begin(), found->values.end());
    held.state->made = 0;
  }
}

void ShardStates::copy_into(Snapshot& snapshot) const {
  if (snapshot.slots.empty() || !is_state_slot(snapshot.slots.back().name)) {
    for (std::uint32_t shard = 0; shard < shape_.shards; ++shard)
      snapshot.slots.push_back({state_slot(shard), std::vector<float>(shape_.elements)});
  }
  const std::size_t first = snapshot.slots.size() - shape_.shards;
  for (const auto& [shard, held] : held_) {
    if (held.owned)
      snapshot.slots[first + shard].values.assign(held.state->now.begin(), held.state->now.end());
  }
}

}  // namespace muster
