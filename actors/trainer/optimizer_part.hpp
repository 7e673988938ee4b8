// What one replica holds of a sharded optimizer in one view: the vectors, and the last mean gradient, of the
// elements that it owns or backs up.
//
// In a round the owner foretells what its elements become, and this goes to all; the vectors follow when the
// whole step is there. So a step that is given up leaves them as they were, and can be done again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "actors/trainer/part.hpp"
#include "gpu/optimizer/optimizer.hpp"
#include "transport/borrowable.hpp"
#include "transport/collective/sums/part_update.hpp"

namespace muster {

/// What follows from a PartUpdate is called by the thread that drives the reduction, within a round; all else
/// by the compute thread, between rounds. A round's end orders the two.
class OptimizerPart final : public Part, public PartUpdate {
 public:
  using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(std::size_t elements)>;

  /// `state`: the flat state, of which the first `parameters` elements have vectors; it stays where it is.
  OptimizerPart(const std::vector<PartTile>& tiles, std::uint32_t self, std::size_t parameters,
                std::span<const float> state, MakeOptimizer make);

  void begin(std::uint64_t step) override;
  float* gradient(ElementRange elements) override;
  void kept(ElementRange elements) override;
  void result(ElementRange elements, float* out) override;

  void prepare(const Part* before) override;
  /// The vectors follow with this step, from the gradients that are kept; the state is still the one before
  /// it.
  void commit(std::uint64_t step, const std::vector<ShardReport>& shards) override;

  bool has_vectors() const override { return vectors_ > 0; }
  bool keeps(ElementRange) const override { return false; }
  void expect(const std::vector<PartMove>& moves) override;
  std::vector<std::byte> give(ElementRange elements) const override;
  void take(std::span<const std::byte> bytes) override;
  bool complete() const override { return expected_.empty(); }
  void fill_from(const Snapshot& snapshot) override;
  void copy_into(Snapshot& snapshot) const override;

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

  std::vector<Held> held_;  // ascending
  std::size_t elements_ = 0, with_vectors_ = 0;
  std::size_t vectors_ = 0;  // of the optimizer
  std::size_t parameters_;
  std::span<const float> state_;
  MakeOptimizer make_;
  std::unique_ptr<Optimizer> optimizer_;
  Floats gradient_;
  std::uint64_t step_ = 0;
  std::size_t kept_ = 0;  // elements, of step_
  std::vector<float> scratch_;
  AwaitedElements expected_;
};

}  // namespace muster
