// The nodes of a run, and the view that they are in: what all rules of the membership read and change.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/messages/view.hpp"
#include "actors/rules/nodes/node_record.hpp"

namespace muster {

class NodeTable {
 public:
  using Map = std::map<NodeName, NodeRecord>;

  const Map& all() const { return nodes_; }
  Map& all() { return nodes_; }
  Map::const_iterator begin() const { return nodes_.begin(); }
  Map::const_iterator end() const { return nodes_.end(); }
  bool empty() const { return nodes_.empty(); }

  const NodeRecord& at(const NodeName& name) const { return nodes_.at(name); }
  NodeRecord& at(const NodeName& name) { return nodes_.at(name); }
  /// A node of which nothing is known is expected from now on.
  NodeRecord& operator[](const NodeName& name) { return nodes_[name]; }
  const NodeRecord* find(const NodeName& name) const;
  NodeRecord* find(const NodeName& name);

  bool alive(const NodeName& name) const;
  bool member(const NodeName& name) const;
  /// This very process is in the run.
  bool lives(const NodeName& name, std::uint64_t incarnation) const;
  bool none_alive() const;
  /// Whether a loader takes part, or is about to.
  bool any_loader() const;
  /// Before the first view every node that the job starts is waited for like a member.
  bool waits_for(const NodeRecord& record) const {
    return view_.number == 0 ? !gone(record) : is_member(record);
  }

  void heard(const Heartbeat& message);

  /// The view that is being installed or is in force.
  const View& view() const { return view_; }
  void enter(const View& view);

  /// How many could be members of the first view.
  std::uint32_t ready(bool loader) const;
  std::vector<NodeName> ready_besides(const NodeName& who) const;
  /// The nodes of other hosts that are ready.
  std::vector<NodeName> ready_elsewhere(const NodeName& who) const;

  /// How the others reach this node.
  Member member_of(const NodeName& name) const;
  /// "replica 1 on host2", for people.
  std::string name_at_host(const NodeName& who) const;
  /// The same, of one that is reached over a network; "replica 1" of one on the coordinator's own host.
  std::string name_at_place(const NodeName& who) const;

 private:
  View view_;
  Map nodes_;
};

/// For people: "replica 1, loader 0".
std::string list_of(const std::vector<NodeName>& names);

}  // namespace muster
