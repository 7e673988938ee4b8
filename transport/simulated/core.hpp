// The rules of the simulated network: what happens to frames and connections, and when. Private to
// simulated/.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/simulated/chance.hpp"
#include "transport/simulated/network.hpp"
#include "transport/simulated/nodes.hpp"

namespace muster::simulated {

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

  Node& attach(const std::string& name) { return nodes_.attach(name); }
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
  bool small(const Transfer& transfer) const { return transfer.payload.size() <= options_.at_once_bytes; }

  bool vanishes(const Transfer& transfer);

  Path* path(const Node& from, const Node& to);
  bool holds(Path* path, const std::shared_ptr<Link>& link, Event event, bool arriving = false);
  bool holds_small(const Transfer& transfer, const std::shared_ptr<Link>& link, Event event);
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
  Chance chance_;
  Nodes nodes_;
  std::map<std::pair<std::string, std::string>, Path> paths_;  // those that were ever disturbed
  std::map<std::uint64_t, BorrowedSend> borrows_;              // by number of the send
  std::uint64_t sends_ = 0;
  SimulatedCounts counts_;
};

}  // namespace muster::simulated
