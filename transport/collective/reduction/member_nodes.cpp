#include "transport/collective/reduction/member_nodes.hpp"

#include "base/check.hpp"

namespace muster {

MemberNodes::MemberNodes(const ReductionShape& shape)
    : height_(tree_height(shape.shards)), ranges_(shape.members.size()) {
  for (std::uint32_t turn = 1; turn <= shape.members.size(); ++turn) {
    const auto member = static_cast<std::uint32_t>((shape.self + turn) % shape.members.size());
    ranges_[member].first = nodes_.size();
    for (const NodeId node : cover(height_, shape.members[member].begin, shape.members[member].end)) {
      indices_[node] = nodes_.size();
      nodes_.push_back({node, member});
    }
    ranges_[member].end = nodes_.size();
  }
}

std::size_t MemberNodes::index_of(NodeId node) const {
  const auto found = indices_.find(node);
  return found == indices_.end() ? nodes_.size() : found->second;
}

void MemberNodes::check_owned(std::uint32_t member, const std::vector<NodeValue>& nodes) const {
  for (const NodeValue& value : nodes) {
    const std::size_t index = index_of(value.node);
    MUSTER_CHECK(index < size() && nodes_[index].member == member, value.node);
  }
}

}  // namespace muster
