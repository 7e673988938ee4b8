// What one replica holds of a sharded optimiser in one view: the vectors, and the last mean gradient, of the
// elements that it owns or backs up.
//
// In a round the owner foretells what its elements become, and this goes to all; the vectors follow when the
// whole step is there. So a step that is given up leaves them as they were, and can be done again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "muster/actors/rules/optimizer_parts.hpp"
#include "muster/gpu/optimizer.hpp"
#include "muster/transport/collective/part_update.hpp"
#include "muster/transport/lendable.hpp"

namespace muster {

struct Snapshot;

/// What follows from a PartUpdate is called by the thread that drives the reduction, within a round; all else
/// by the compute thread, between rounds. A round's end orders the two.
class OptimizerPart final : public PartUpdate {
 public:
  using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(std::size_t elements)>;

  /// `state`: the flat state, of which the first `parameters` elements have vectors; it stays where it is.
  OptimizerPart(std::vector<PartTile> tiles, std::uint32_t self, std::size_t parameters,
                std::span<const float> state, MakeOptimizer make);

  void begin(std::uint64_t step) override;
  float* gradient(ElementRange elements) override;
  void kept(ElementRange elements) override;
  void result(ElementRange elements, float* out) override;

  /// Takes the memory; the vectors are 0. First of all.
  void prepare();
  /// The vectors follow with this step, from the gradients that are kept; the state is still the one before
  /// it. Throws Error if they are not all there.
  void commit(std::uint64_t step);

  const std::vector<PartTile>& tiles() const { return tiles_; }
  /// Whether the optimiser has vectors at all.
  bool has_vectors() const { return vectors_ > 0; }

  /// What it is to be given before it is complete.
  void expect(const std::vector<PartMove>& moves);
  /// The elements of the vectors as bytes, for `take` of another one. At most PartMove::kElementsMax.
  std::vector<std::byte> give(ElementRange elements) const;
  /// Throws Error if it is not what is expected.
  void take(std::span<const std::byte> bytes);
  bool complete() const { return expected_.empty(); }
  /// All that it holds, from a whole snapshot; complete after it. Throws Error if that is of another
  /// optimiser.
  void fill_from(const Snapshot& snapshot);
  /// What this replica owns goes into a whole snapshot; its vectors are made if they are not there.
  void copy_into(Snapshot& snapshot) const;

  static std::size_t given_bytes_max();

 private:
  struct Held {
    ElementRange elements;
    std::size_t at = 0;  // of its first element, in what is held
    bool owned = false;
  };

  template <class Visit>
  void for_each_piece(Visit&& visit) const;
  const Held& held(ElementRange elements) const;
  std::size_t place_of(ElementRange elements) const;

  std::vector<PartTile> tiles_;
  std::vector<Held> held_;  // ascending
  std::size_t elements_ = 0, with_vectors_ = 0;
  std::size_t vectors_ = 0;  // of the optimiser
  std::size_t parameters_;
  std::span<const float> state_;
  MakeOptimizer make_;
  std::unique_ptr<Optimizer> optimizer_;
  Floats gradient_;
  std::uint64_t step_ = 0;
  std::size_t kept_ = 0;  // elements, of step_
  std::vector<float> scratch_;
  std::map<std::size_t, std::size_t> expected_;  // ends, by begins
};

/// Gathers the parts of all for a checkpoint.
class GatheredParts {
 public:
  /// Into `snapshot`, which has the own part.
  GatheredParts(std::shared_ptr<Snapshot> snapshot, const std::vector<PartMove>& moves, std::uint32_t self);

  /// Throws Error if it is not what is expected.
  void take(std::span<const std::byte> bytes);
  bool complete() const { return expected_.empty(); }
  const std::shared_ptr<Snapshot>& snapshot() const { return snapshot_; }

 private:
  std::shared_ptr<Snapshot> snapshot_;
  std::map<std::size_t, std::size_t> expected_;
};

}  // namespace muster
