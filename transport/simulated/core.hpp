// The rules of the simulated network: what happens to frames and connections, and when. Private to
// simulated/.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "transport/simulated/network.hpp"

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
};

/// The path from one name to another, while something is or was wrong with it.
struct Path {
  struct Held {
    std::shared_ptr<Link> link;
    Event event;
    bool arriving = false;  ///< it has a place at the receiver already
  };
  Disturbance disturbance;
  std::size_t unanswered_bytes = 0;  ///< that went through while the path back was blocked
  std::vector<Held> held;
};

/// One frame under way.
struct Transfer {
  Frame frame;
  std::vector<std::byte> payload;
  std::shared_ptr<Link> link;  ///< of the sender
  std::span<std::byte> place;
  std::uint64_t number = 0;  ///< of the send
};

/// A payload that its receiver reads where the sender has it.
struct BorrowedSend {
  std::shared_ptr<Transfer> transfer;
  bool revoked = false;
  bool report_waits =
      false;  ///< the sender hears that its buffer is free when the borrowed buffer is given back
};

/// Events hold it, so that it lives as long as anything may still happen.
class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(SimulatedNetwork::After after, std::uint64_t seed, const SimulatedNetworkOptions& options);

  Node& attach(const std::string& name);
  /// `told`: the peers learn of it soon; else only by their own time-outs.
  void vanish(Node& node, bool told);
  void cut(const std::string& name);
  void lose(const std::string& name);
  void connect(Node& node, PeerId peer, const std::string& address);
  void disconnect(Node& node, PeerId peer);
  void send(Node& node, PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token);
  void disturb(const std::string& from, const std::string& to, const Disturbance& disturbance);
  bool reaches(const std::string& from, const std::string& to);
  void break_between(const std::string& a, const std::string& b);
  void pause(const std::string& name);
  void resume(const std::string& name);
  /// Nobody can mend a path or end a pause any more: what they hold would hold this, for ever.
  void hold_nothing();
  bool supports_borrowing() const { return options_.supports_borrowing; }
  bool stands(std::uint64_t borrow) const;
  void give_back(std::uint64_t borrow);
  const SimulatedCounts& counts() const { return counts_; }

 private:
  std::chrono::nanoseconds between(std::chrono::nanoseconds min, std::chrono::nanoseconds max);
  std::chrono::nanoseconds hop() { return between(options_.delay_min, options_.delay_max); }
  std::chrono::nanoseconds stall() { return between(options_.stall_min, options_.stall_max); }
  bool coin() { return (random_() & 1) != 0; }
  std::chrono::nanoseconds transfer_time(std::uint64_t bytes) const;
  std::chrono::nanoseconds path_time(const Node& from, const Node& to, std::uint64_t bytes);
  bool small(const Transfer& transfer) const { return transfer.payload.size() <= options_.at_once_bytes; }

  bool vanishes(const Transfer& transfer);

  Node* live(const std::string& name);
  static std::shared_ptr<Link> other_side(const Link& link);
  Path* path(const Node& from, const Node& to);
  bool holds(Path* path, const std::shared_ptr<Link>& link, Event event, bool arriving = false);
  bool holds_small(const Transfer& transfer, const std::shared_ptr<Link>& link, Event event);
  static bool waits(Node& node, Event event, const Link* arriving = nullptr);
  void let_go(Path& path);
  void let_go(const Link& link);
  void stalled(const std::shared_ptr<Link>& link, std::uint64_t stall);

  bool lies_in_memory(const Link& link) const;
  bool offer(const std::shared_ptr<Transfer>& transfer);
  void revoke_borrows(const Link& link);
  void begin(const std::shared_ptr<Transfer>& transfer);
  void finish(const std::shared_ptr<Transfer>& transfer);
  void report(const std::shared_ptr<Link>& link, std::uint64_t number, bool acknowledged);
  void fail_sends(Link& link);
  void fail_sends_later(const std::shared_ptr<Link>& link);
  void sever(Link& link, bool by_receiver);
  void notice_later(const std::shared_ptr<Link>& link, const std::string& reason);
  void notice(const std::shared_ptr<Link>& link, const std::string& reason, bool by_time_out);

  const SimulatedNetwork::After after_;
  const SimulatedNetworkOptions options_;
  std::mt19937_64
      random_;  // the engine is the same everywhere; the distributions of the standard library are not
  std::map<std::string, std::unique_ptr<Node>> nodes_;         // by address
  std::map<std::string, Node*> names_;                         // the latest of each name
  std::map<std::string, unsigned> lives_;                      // how often a name was used
  std::map<std::pair<std::string, std::string>, Path> paths_;  // those that were ever disturbed
  std::map<std::uint64_t, BorrowedSend> borrows_;              // by number of the send
  std::uint64_t sends_ = 0;
  SimulatedCounts counts_;
};

}  // namespace muster::simulated
