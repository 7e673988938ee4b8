// Ports for a part of the coordinator that is tested alone: what it sends, raises and asks of other parts is
// written down, and nothing follows from it. All ports of a test share one log, which keeps the order.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "actors/coordinator/facts/coordinator_ports.hpp"

namespace muster::testing {

/// Everything that a part did, in order: "event lost", "Close to replica 0", "wake in 5 ms", "journal view
/// 2", "connect replica 1"; an action of other parts as in RecordedActions.
class PartLog {
 public:
  void add(std::string what) { all.push_back(std::move(what)); }

  std::vector<std::string> all;
};

/// The name of the message's type.
inline std::string name_of(const ToNode& message) {
  static constexpr const char* kNames[] = {"Welcome", "Reach",  "Install", "Begin",   "Close",
                                           "Observe", "Donate", "Pulse",   "Adopted", "Stop"};
  static_assert(std::size(kNames) == std::variant_size_v<ToNode>);
  static_assert(std::is_same_v<std::variant_alternative_t<4, ToNode>, Close>);
  static_assert(std::is_same_v<std::variant_alternative_t<9, ToNode>, Stop>);
  return kNames[message.index()];
}

class RecordingPort final : public CoordinatorPort {
 public:
  explicit RecordingPort(PartLog& log) : log_(log) {}

  Time now() const override { return Time(time); }
  std::chrono::nanoseconds elapsed() const override { return time; }
  void raise(Event event) override {
    log_.add("event " + event.name);
    events.push_back(std::move(event));
  }
  void send(const NodeName& who, ToNode message) override {
    log_.add(name_of(message) + " to " + who.text());
    sent.emplace_back(who, std::move(message));
  }
  bool knows(const NodeName& who) const override { return nodes.contains(who); }
  std::vector<NodeName> known() const override { return {nodes.begin(), nodes.end()}; }
  void wake_once_in(std::chrono::milliseconds wait) override {
    log_.add("wake in " + std::to_string(wait.count()) + " ms");
    wakes.push_back(wait);
  }
  void tell_end(const RunStatus&) override {
    log_.add("tell end");
    ++ends_told;
  }

  /// Of all messages to this node those of one kind, in the order in which they were sent.
  template <class Message>
  std::vector<Message> sent_to(const NodeName& who) const {
    std::vector<Message> messages;
    for (const auto& [to, message] : sent) {
      if (to == who && std::holds_alternative<Message>(message))
        messages.push_back(std::get<Message>(message));
    }
    return messages;
  }
  std::vector<std::string> names_of_events() const {
    std::vector<std::string> names;
    for (const Event& event : events) names.push_back(event.name);
    return names;
  }

  std::chrono::nanoseconds time{std::chrono::seconds(100)};
  std::set<NodeName> nodes;
  std::vector<Event> events;
  std::vector<std::pair<NodeName, ToNode>> sent;
  std::vector<std::chrono::milliseconds> wakes;
  int ends_told = 0;

 private:
  PartLog& log_;
};

/// Who is connected is known to the port.
class RecordedConnections final : public NodeConnections {
 public:
  RecordedConnections(PartLog& log, RecordingPort& port) : log_(log), port_(port) {}

  node_actor sender() const override { return caller; }
  void answer(const node_actor&, const Stop& stop) override {
    log_.add("answer Stop");
    answers.push_back(stop);
  }
  void connect(const NodeName& who, const node_actor& node) override {
    log_.add("connect " + who.text());
    nodes_[who] = node;
    port_.nodes.insert(who);
  }
  bool is_connection_of(const NodeName& who, const node_actor& node) const override {
    return nodes_.at(who).address() == node.address();
  }
  caf::actor_addr address_of(const NodeName& who) const override { return nodes_.at(who).address(); }
  std::vector<NodeName> known_at(const caf::actor_addr& address) const override {
    std::vector<NodeName> names;
    for (const auto& [who, node] : nodes_) {
      if (node.address() == address) names.push_back(who);
    }
    return names;
  }
  void forget_all() override {
    ++forgotten;
    forget_all_but({});
  }
  void forget_all_but(const std::vector<NodeName>& stay) override {
    log_.add(stay.empty() ? "forget all" : "forget others");
    const auto goes = [&](const NodeName& who) { return std::ranges::find(stay, who) == stay.end(); };
    std::erase_if(nodes_, [&](const auto& node) { return goes(node.first); });
    std::erase_if(port_.nodes, goes);
  }

  node_actor caller;  ///< who sent the message that is being handled; null: nobody that can be answered
  std::vector<Stop> answers;
  int forgotten = 0;

 private:
  PartLog& log_;
  RecordingPort& port_;
  std::map<NodeName, node_actor> nodes_;
};

/// Each action by its name, with its reason: "lost replica 1: it hangs".
class RecordedActions final : public ViewActions, public EndActions {
 public:
  explicit RecordedActions(PartLog& log) : log_(log) {}

  void lost(const NodeName& who, const std::string&, const std::string& reason, bool again) override {
    may_return[who] = again;
    did("lost " + who.text() + ": " + reason);
    if (then) then("lost");
  }
  void turn_away(const NodeName& who, const std::string& reason, bool again) override {
    may_return[who] = again;
    did("turn away " + who.text() + ": " + reason);
  }
  void feed_newcomers() override { did("feed newcomers"); }
  void close_view() override { did("close view"); }
  void next_view() override { did("next view"); }
  void install(const View& view) override {
    did("install " + std::to_string(view.number));
    installed.push_back(view);
    if (then) then("install");
  }
  void go_on() override { did("go on"); }
  void fail(const std::string& reason) override {
    did("fail: " + reason);
    if (then) then("fail");
  }
  bool keep_state(const std::string&, const std::string& reason) override {
    if (keeps_state) did("keep state: " + reason);
    return keeps_state;
  }
  bool begin_keeping(const std::string& outcome, const std::string& reason) override {
    return keep_state(outcome, reason);
  }
  void last_view() override { did("last view"); }
  void conclude(const std::string& outcome, const std::string&) override { did("conclude: " + outcome); }
  void finish() override { did("finish"); }

  std::vector<std::string> all;
  std::vector<View> installed;
  std::map<NodeName, bool> may_return;  ///< of those who were lost or turned away
  bool keeps_state = false;
  /// What follows from "install", "lost" or "fail"; empty: nothing.
  std::function<void(const std::string& action)> then;

 private:
  void did(std::string what) {
    log_.add(what);
    all.push_back(std::move(what));
  }

  PartLog& log_;
};

}  // namespace muster::testing
