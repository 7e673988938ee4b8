// The result of a sum at this member: which pieces of it are in place, and which runs of it may go on to
// others.
//
// Thread rule: that of the sum, which it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/collective/sums/sum_plan.hpp"

namespace muster {

class SumResult {
 public:
  /// The plan outlives this object.
  explicit SumResult(const SumPlan& plan) : plan_(plan) { reset(); }

  /// For the next round. Memory stays.
  void reset();
  /// Where it will be written; empty: the round has none.
  void open(std::span<float> elements) { elements_ = elements; }
  /// Whether there is a place for it.
  bool is_open() const { return !elements_.empty(); }
  float* at(std::size_t element) const { return elements_.data() + element; }

  /// Whether all these pieces may come from this member, and none is in place.
  bool awaits(SumPlan::Pieces pieces, std::uint32_t from) const;
  /// A part of it is or will be written.
  void begin() { begun_ = true; }
  bool begun() const { return begun_; }

  /// A piece is in place. Returns whether it was not before.
  bool put(std::size_t piece) {
    if (in_place_[piece]) return false;
    in_place_[piece] = true;
    ++pieces_in_place_;
    return true;
  }
  bool has(std::size_t piece) const { return in_place_[piece]; }
  std::size_t pieces_in_place() const { return pieces_in_place_; }
  bool whole() const { return pieces_in_place_ == plan_.pieces().size(); }
  /// One more piece of a run to others (SumPlan::down) is in place. Returns whether all of them are.
  bool fills(std::uint32_t run) { return ++ready_[run] == plan_.down()[run].pieces; }

  void came_from(std::uint32_t member, std::size_t elements) { elements_from_[member] += elements; }
  std::size_t elements_from(std::uint32_t member) const { return elements_from_[member]; }

 private:
  const SumPlan& plan_;
  std::span<float> elements_;
  bool begun_ = false;
  std::vector<bool> in_place_;  // by piece
  std::size_t pieces_in_place_ = 0;
  std::vector<std::size_t> ready_;          // by run: pieces in place
  std::vector<std::size_t> elements_from_;  // by member
};

}  // namespace muster
