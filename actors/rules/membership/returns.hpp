// Members that come back: to a coordinator that was started anew, or over a new connection.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/messages/view_messages.hpp"
#include "actors/rules/membership/fit.hpp"
#include "actors/rules/nodes/node_table.hpp"
#include "muster/job.hpp"

namespace muster {

class Returns {
 public:
  Returns(NodeTable& nodes, const Job& job) : nodes_(nodes), fit_(nodes, job) {}

  /// The view that a coordinator before this one sent last: its members are waited for, but for those that
  /// have come back. All others are forgotten.
  void wait_for(const View& view);
  /// A member of that view that is waited for.
  bool expects(const NodeName& name, std::uint64_t incarnation) const;
  std::vector<NodeName> missing() const;
  bool any_replica_is_back() const;

  /// A member of that view is back; the reason if it is none, or if it does not fit to those that have come
  /// back; empty otherwise.
  std::string adopt(const Adopt& message);
  /// A member whose connection had broken: what it knows of views.
  void reconnected(const Adopt& message);

 private:
  NodeTable& nodes_;
  Fit fit_;
};

}  // namespace muster
