// The states of the shards that one replica computes, or backs up: what compression left out of their
// gradients so far (error feedback).
//
// A step makes new states beside those that are there, and they count when the whole step is there. So a step
// that is given up leaves them as they were, and can be done again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "actors/trainer/part.hpp"
#include "gpu/optimizer/compression.hpp"
#include "transport/borrowable.hpp"
#include "transport/collective/sums/shard_copies.hpp"
#include "transport/collective/sums/wire.hpp"

namespace muster {

/// The states of all shards lie one behind the other, each of as many elements: shard s from s times that on.
struct StatesShape {
  std::uint32_t shards = 0;
  std::size_t elements = 0;  ///< of each: the model's parameters
  double ratio = 1;          ///< of the elements that a shard adds to a step; 0: `compress` is not used
  Wire wire;                 ///< what it rounds is left out, too
};

/// Who holds the state of which shard.
std::vector<PartTile> state_tiles(const StatesShape& shape, const std::vector<PartHolder>& holders);
/// The slot of a snapshot that it is in.
std::string state_slot(std::uint32_t shard);
bool is_state_slot(const std::string& name);

/// What follows from ShardCopies is called by the thread that drives the reduction, within a round; all else
/// by the compute thread. A round's opening and end order the two.
class ShardStates final : public Part, public ShardCopies {
 public:
  ShardStates(const StatesShape& shape, const std::vector<PartHolder>& holders, std::uint32_t self);

  /// Compresses the gradient of a shard that this replica computes, and makes the shard's state of this step.
  /// `gradient`: its parameters.
  void compress(std::uint32_t shard, std::uint64_t step, std::span<float> gradient);

  /// What was left out until now.
  std::span<const float> left_out(std::uint32_t shard) const { return state(shard).now; }

  std::span<const float> made(std::uint32_t shard) const override;
  std::span<float> copy(std::uint32_t shard) override;
  void kept(std::uint32_t shard, std::uint64_t step) override;
  void abandoned(std::uint32_t shard) override;

  /// What `before` holds of it is shared with it, not copied.
  void prepare(const Part* before) override;
  void commit(std::uint64_t step, const std::vector<ShardReport>& shards) override;
  bool has_vectors() const override { return shape_.elements > 0; }
  bool keeps(ElementRange elements) const override;
  void expect(const std::vector<PartMove>& moves) override;
  std::vector<std::byte> give(ElementRange elements) const override;
  void take(std::span<const std::byte> bytes) override;
  bool complete() const override { return expected_.empty(); }
  void fill_from(const Snapshot& snapshot) override;
  void copy_into(Snapshot& snapshot) const override;

 private:
  struct State {
    Floats now;
    Floats next;             // that of step `made`
    std::uint64_t made = 0;  // 0: none
  };
  struct Held {
    std::shared_ptr<State> state;
    bool owned = false;
    bool had = false;  // before this view
  };

  State& state(std::uint32_t shard) const;
  std::span<float> now(ElementRange elements) const;

  StatesShape shape_;
  std::map<std::uint32_t, Held> held_;  // by shard
  std::unique_ptr<TopK> compressor_;
  std::vector<float> exact_;  // a piece of a gradient, before the wire rounds it
  AwaitedElements expected_;
};

}  // namespace muster
