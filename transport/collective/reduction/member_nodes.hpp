// Which nodes of the canonical tree each member of a view adds: those that cover its shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "transport/collective/sums/accumulator.hpp"
#include "transport/collective/sums/canonical_tree.hpp"
#include "transport/collective/sums/reduction_shape.hpp"

namespace muster {

class MemberNodes {
 public:
  struct Node {
    NodeId node = 0;
    std::uint32_t member = 0;
  };
  struct Range {
    std::size_t first = 0;
    std::size_t end = 0;
  };

  explicit MemberNodes(const ReductionShape& shape);

  std::size_t size() const { return nodes_.size(); }
  const Node& operator[](std::size_t index) const { return nodes_[index]; }
  /// size(): no member adds it.
  std::size_t index_of(NodeId node) const;
  /// Those of a member.
  Range of(std::uint32_t member) const { return ranges_[member]; }
  /// Each of these is a node of this member: all else is a bug.
  void check_owned(std::uint32_t member, const std::vector<NodeValue>& nodes) const;
  LeafInterval leaves(NodeId node) const { return leaves_below(height_, node); }

 private:
  unsigned height_;
  std::vector<Node> nodes_;  // the own ones last
  std::vector<Range> ranges_;
  std::map<NodeId, std::size_t> indices_;
};

}  // namespace muster
