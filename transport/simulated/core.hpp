// The rules of the simulated network: what happens to frames and connections, and when. Private to
// simulated/.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "muster/transport/simulated/network.hpp"

namespace muster::simulated {

struct Node;

/// One side's connection to another node.
struct Link {
  enum class State { open, failed, closed };

  PeerId peer = 0;
  Node* remote = nullptr;
  State state = State::open;                  ///< as this side knows it
  bool severed = false;                       ///< cut somewhere; this side may not know yet
  bool severed_by_receiver = false;           ///< then nothing that was under way arrives
  std::map<std::uint64_t, SendToken> unsent;  ///< sends not yet reported, by number
};

/// Stays for the life of the network, also when it has vanished, so that a stale address finds nobody at
/// home.
struct Node {
  std::string address;
  bool alive = true;
  FrameSink* sink = nullptr;
  std::map<PeerId, std::shared_ptr<Link>> links;
};

/// One frame under way.
struct Transfer {
  Frame frame;
  std::vector<std::byte> payload;
  Node* to = nullptr;
  std::shared_ptr<Link> link;  ///< of the sender
  std::span<std::byte> place;
};

/// Events hold it, so that it lives as long as anything may still happen.
class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(SimulatedNetwork::After after, std::uint64_t seed, const SimulatedNetworkOptions& options);

  Node& attach(const std::string& name);
  void vanish(Node& node);
  void cut(const std::string& name);
  void connect(Node& node, PeerId peer, const std::string& address);
  void disconnect(Node& node, PeerId peer);
  void send(Node& node, PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token);
  const SimulatedCounts& counts() const { return counts_; }

 private:
  std::chrono::nanoseconds draw(std::chrono::nanoseconds max);
  std::chrono::nanoseconds hop() { return draw(options_.delay_max); }
  bool coin() { return (random_() & 1) != 0; }
  std::chrono::nanoseconds transfer_time(std::uint64_t bytes) const;

  void begin(const std::shared_ptr<Transfer>& transfer);
  void finish(Transfer& transfer);
  void report(Node& node, Link& link, std::uint64_t number);
  void fail_sends(Node& node, Link& link);
  void sever(Link& link, bool by_receiver);
  void notice_later(Node& node, const std::shared_ptr<Link>& link, const std::string& reason);
  void notice(Node& node, Link& link, const std::string& reason);

  const SimulatedNetwork::After after_;
  const SimulatedNetworkOptions options_;
  std::mt19937_64
      random_;  // the engine is the same everywhere; the distributions of the standard library are not
  std::map<std::string, std::unique_ptr<Node>> nodes_;  // by address
  std::map<std::string, Node*> names_;                  // the latest of each name
  std::map<std::string, unsigned> lives_;               // how often a name was used
  std::uint64_t sends_ = 0;
  SimulatedCounts counts_;
};

}  // namespace muster::simulated
