// The inputs of a sum at this member: which of them each piece has, and where their values lie. The own ones
// lie where they were computed. Those of others are in the staging until they have been added.
//
// Thread rule: that of the sum, which it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/collective/sums/accumulator.hpp"
#include "transport/collective/sums/staging.hpp"
#include "transport/collective/sums/sum_plan.hpp"

namespace muster {

class SumInputs {
 public:
  struct Staged {
    const float* values = nullptr;
    Staging::Hold hold = Staging::kNone;
  };

  /// Both outlive this object.
  SumInputs(const SumPlan& plan, Staging& staging) : plan_(plan), staging_(staging) { reset(); }

  /// For the next round: what is still staged is released. Memory stays.
  void reset();
  /// Borrowed buffers go back, for their owners wait; others stay where they may still be written to.
  void give_back_borrowed();

  /// This member's nodes; the first call of a round counts. The values stay until they have been added.
  void set_own(const std::vector<NodeValue>& nodes) {
    if (own_.empty()) own_ = nodes;
  }
  const std::vector<NodeValue>& own() const { return own_; }
  /// They are now computed for this piece: those that are inputs of it are taken.
  void take_own(std::size_t piece);

  /// Which input of the piece this node of a member is; nothing if it is none.
  std::optional<std::size_t> input_of(const SumPlan::Piece& piece, NodeId node, std::uint32_t from) const;
  /// Whether this node of a member is an input of all these pieces, and none has it yet.
  bool all_await(SumPlan::Pieces pieces, NodeId node, std::uint32_t from) const;
  /// Returns whether the piece had no such input before. The first answer counts; a second one is released.
  bool stage(std::size_t piece, std::size_t input, Staged staged) {
    if (!take(piece, input)) {
      release(staged);
      return false;
    }
    staged_[at(piece, input)] = staged;
    return true;
  }

  /// How many inputs the piece has; 0 from `added` on.
  std::uint32_t arrived(std::size_t piece) const { return arrived_[piece]; }
  /// The piece is being added up, and not to be looked at again.
  void added(std::size_t piece) { arrived_[piece] = 0; }
  /// The values of an input that the piece has.
  const float* values(const SumPlan::Piece& piece, std::size_t input) const;
  /// It has been added. Returns whether what was read counts: false if its owner has taken it back.
  bool drop(std::size_t piece, std::size_t input) {
    Staged& staged = staged_[at(piece, input)];
    const bool stands = staged.hold == Staging::kNone || staging_.stands(staged.hold);
    release(staged);
    return stands;
  }

  /// Elements that have come as inputs that the plan has from this member.
  std::size_t elements_from(std::uint32_t member) const { return elements_from_[member]; }

 private:
  std::size_t at(std::size_t piece, std::size_t input) const {
    return plan_.pieces()[piece].first_input + input;
  }
  bool take(std::size_t piece, std::size_t input);
  void release(Staged& staged) {
    if (staged.hold != Staging::kNone) staging_.release(staged.hold);
    staged = {};
  }

  const SumPlan& plan_;
  Staging& staging_;
  std::vector<NodeValue> own_;
  std::vector<Staged> staged_;              // by input of all pieces
  std::vector<bool> taken_;                 // likewise: its value is there
  std::vector<std::uint32_t> arrived_;      // by piece
  std::vector<std::size_t> elements_from_;  // by member
};

}  // namespace muster
