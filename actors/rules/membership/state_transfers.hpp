// Newcomers, and the members that give them their state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/messages/view_messages.hpp"
#include "actors/rules/nodes/node_table.hpp"

namespace muster {

class StateTransfers {
 public:
  explicit StateTransfers(NodeTable& nodes) : nodes_(nodes) {}

  /// The member that gives its state to those who need one now; none if there is none.
  std::optional<Member> donor() const;
  /// It hangs, and newcomers wait for its state: others are donors from now on. Whether that is new, and one
  /// of the others can be.
  bool pass_over(const NodeName& who);

  /// Newcomers that fit, have no state, and get it from nobody.
  std::vector<NodeName> without_donor() const;
  void began(const NodeName& newcomer, const Member& donor);
  /// What the newcomer said of a view that is being closed came too late. If that stays the view, in a pause,
  /// its donor begins again.
  void to_begin_again(const NodeName& newcomer) { nodes_[newcomer].source.again = true; }
  void caught_up(const CaughtUp& message);

  /// A member gives it its state, or has given it: in the view in which that member is.
  bool has_donor(const NodeName& newcomer) const;
  bool has_donor(const NodeName& newcomer, std::uint32_t in_view) const {
    return nodes_.at(newcomer).source.view == in_view && has_donor(newcomer);
  }
  /// The newcomers that get, or got, their state from this one in that view.
  std::vector<NodeName> newcomers_of(const NodeName& donor, std::uint32_t view) const;
  /// Those of them that have not said yet that they have it, in the donor's view.
  std::vector<NodeName> waiting_for(const NodeName& donor) const;
  /// Newcomers to which this one may have given its state before: others do now, or they are gone.
  std::vector<NodeName> no_longer_of(const NodeName& donor) const;

  /// Newcomers that have no state yet.
  std::vector<NodeName> without_state() const;
  bool any_caught_up() const;
  /// How many newcomers have come as far as that, and stay.
  std::size_t newcomers(NodeStage stage) const;

 private:
  NodeTable& nodes_;
};

}  // namespace muster
