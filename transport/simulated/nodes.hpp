// The nodes of a simulated network, and their connections to each other. Private to simulated/.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/traffic.hpp"
#include "transport/transport.hpp"

namespace muster::simulated {

struct Node;

/// One side's connection to another node.
struct Link {
  enum class State { open, failed, closed };

  PeerId peer = 0;
  std::uint32_t sequence = 0;  ///< which connection of its owner to the other node it is
  Node* owner = nullptr;
  Node* remote = nullptr;
  State state = State::open;                  ///< as the owner knows it
  bool severed = false;                       ///< cut somewhere; the owner may not know yet
  bool severed_by_receiver = false;           ///< then nothing that was under way arrives
  std::map<std::uint64_t, SendToken> unsent;  ///< sends not yet reported, by number
  std::size_t held = 0;                       ///< of its frames and reports that a blocked path holds
  std::uint64_t stalls = 0;                   ///< how often that began
};

using Event = std::function<void()>;

/// Stays for the life of the network, also when it has vanished, so that a stale address finds nobody at
/// home.
struct Node {
  std::string name;
  std::string address;
  std::uint32_t number = 0;  ///< in the order of `attach`
  bool alive = true;
  bool paused = false;
  FrameSink* sink = nullptr;
  std::map<PeerId, std::shared_ptr<Link>> links;
  /// A side's n-th connection belongs to the other side's n-th, whenever that is made.
  using Place = std::pair<std::uint32_t, std::uint32_t>;  ///< number of the other node, sequence
  std::map<Place, std::shared_ptr<Link>> inbound;         ///< of others to this one
  std::map<std::uint32_t, std::uint32_t> connections;     ///< to each other node, so far
  std::set<Place> ended_before;  ///< ended by the other side before this one's was made
  struct Waiting {
    Event event;
    const Link* arriving;  ///< null: it has nothing to do with what arrives elsewhere
  };
  std::vector<Waiting> waiting;  ///< for the end of the pause
  Traffic traffic;

  /// Keeps an event for the end of the pause. Returns false if it is not paused, or is gone: then the event
  /// happens now.
  bool waits(Event event, const Link* arriving = nullptr) {
    if (!alive || !paused) return false;
    waiting.push_back({std::move(event), arriving});
    return true;
  }
};

/// What the remote node made as its n-th connection to the owner; null if it has not, or let go of it.
std::shared_ptr<Link> other_side(const Link& link);

/// All nodes that a network ever had.
class Nodes {
 public:
  /// A new one. No node of this name may live.
  Node& attach(const std::string& name);
  /// The one of this name that lives; null: none does.
  Node* live(const std::string& name) const;
  /// Dead or alive; null: no node ever had this address.
  Node* at(const std::string& address) const;
  /// Nobody is paused any more, and what waited for that never happens.
  void end_pauses();

 private:
  std::map<std::string, std::unique_ptr<Node>> nodes_;  // by address
  std::map<std::string, Node*> names_;                  // the latest of each name
  std::map<std::string, unsigned> lives_;               // how often a name was used
};

}  // namespace muster::simulated
