// What one member does in the sums of a view: worked out once, the same for every round.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/collective/sums/buckets.hpp"
#include "transport/collective/sums/canonical_tree.hpp"
#include "transport/collective/sums/reduction_shape.hpp"

namespace muster {

/// The most nodes that the sums of these shards can be added up to: their least cover. The intervals are
/// disjoint, in any order.
std::vector<NodeId> cover_of(unsigned height, std::vector<LeafInterval> intervals);

class SumPlan {
 public:
  /// A node that this member adds up or hands on, and whom it comes from: itself, or a child.
  struct Input {
    NodeId node = 0;
    std::uint32_t from = 0;
    bool operator==(const Input&) const = default;
  };
  /// This member's part in the tree of one owner's ranges.
  struct Role {
    bool owns = false;
    std::uint32_t parent = 0;
    std::vector<std::uint32_t> children;  ///< whose sums come here
    std::vector<Input> inputs;
    std::vector<NodeId> outputs;  ///< what goes to the parent, or to all
    /// Whether it adds up what others have.
    bool adds() const { return !children.empty(); }
  };
  /// What is added, sent and received as one: a range, or a chunk of it.
  struct Piece {
    std::size_t begin = 0;
    std::size_t count = 0;
    std::uint32_t owner = 0;
    std::size_t first_input = 0;      ///< of all inputs of all pieces
    std::optional<std::uint32_t> up;  ///< the run by which it goes to the parent
    std::vector<std::uint32_t> down;  ///< the runs by which its result goes to the children
    std::size_t end() const { return begin + count; }
    ElementRange elements() const { return {begin, end()}; }
  };
  /// Pieces that lie one behind the other and go to the same member at the same time: one message.
  struct Run {
    std::uint32_t to = 0;
    std::size_t first = 0;
    std::size_t pieces = 0;
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  struct Pieces {
    std::size_t first = 0;
    std::size_t end = 0;
  };
  /// What a member can offer as one. Each owner has a range in each bucket; no run is in two of them.
  struct Bucket {
    ElementRange elements;
    Pieces pieces;
    /// The runs of what this member does not add to, in the order in which they are sent: to the next member
    /// first, so that not all send to the same one.
    std::vector<std::uint32_t> first_sends;
  };

  explicit SumPlan(const ReductionShape& shape);

  const ReductionShape& shape() const { return shape_; }
  unsigned height() const { return height_; }
  const Role& role(const Piece& piece) const { return roles_[piece.owner]; }
  const std::vector<Role>& roles() const { return roles_; }  ///< by owner
  const std::vector<Piece>& pieces() const { return pieces_; }
  const std::vector<Run>& up() const { return up_; }
  const std::vector<Run>& down() const { return down_; }
  const std::vector<Bucket>& buckets() const { return buckets_; }
  std::size_t inputs() const { return inputs_; }  ///< of all pieces

  /// The pieces that these elements are, exactly; nothing if they are not whole pieces.
  std::optional<Pieces> pieces_at(std::uint64_t begin, std::uint64_t count) const;
  /// In which order this member does what these pieces ask for: the number of the piece in this place, from 0
  /// on. Where all add all of it up, each begins with another part: two who read the same lines at the same
  /// time, out of each other's caches, wait for each other.
  std::size_t turned(Pieces pieces, std::size_t at) const;
  /// Who adds up a node of `member` for this piece: the member itself, if it adds, else its parent; or all.
  std::vector<std::uint32_t> adders_of(const Piece& piece, std::uint32_t member) const;

 private:
  void make_roles();
  Role role_in(const Parents& parents) const;
  void cut();
  void cut(Bucket& bucket);
  void cut_for_all(const Bucket& bucket);
  void cut(ElementRange range, std::uint32_t owner);
  void group();
  void group(Bucket& bucket);
  void give_to_all(Bucket& bucket);
  bool goes_along(const Run& run, const Piece& piece) const;
  bool goes_along_up(const Run& run, const Piece& piece) const;

  ReductionShape shape_;
  unsigned height_;
  std::vector<Role> roles_;
  std::vector<Parents> trees_;  // by owner
  std::vector<Piece> pieces_;
  std::vector<Run> up_, down_;
  std::vector<Bucket> buckets_;
  std::size_t inputs_ = 0;
};

}  // namespace muster
