// Before a node is taken in: whether it and the others reach each other's ports of data. Part of
// messages.hpp, which is the one to include and to read.
#pragma once

#include <string>
#include <vector>

#include "actors/messages/message.hpp"
#include "actors/messages/view.hpp"

namespace muster {

/// coordinator -> node: dials the ports of these. About the node `about`, which is one end of each pair.
/// Owed: Reached, within kReachPatience (rules/membership/reach.hpp); then it is taken in without this
/// report.
struct Reach {
  NodeName about;
  std::vector<Member> peers;

  static auto fields(Reach& x) { return std::tie(x.about, x.peers); }
};
MUSTER_MESSAGE(Reach)

/// A port that does not answer.
struct NotReached {
  NodeName peer;
  std::string where;  ///< address and port
  std::string why;

  static auto fields(NotReached& x) { return std::tie(x.peer, x.where, x.why); }
};
MUSTER_MESSAGE(NotReached)

/// node -> coordinator. Owed to a newcomer that is not reached, or does not reach another one: Stop.
struct Reached {
  NodeName name;
  NodeName about;
  std::vector<NotReached> not_reached;

  static auto fields(Reached& x) { return std::tie(x.name, x.about, x.not_reached); }
};
MUSTER_MESSAGE(Reached)

}  // namespace muster
