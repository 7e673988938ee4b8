// Ports for a part of the coordinator that is tested alone: what it sends, raises and asks of other parts is
// written down, and nothing follows from it.
#pragma once

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/coordinator/facts/coordinator_ports.hpp"

namespace muster::testing {

class RecordingPort final : public CoordinatorPort {
 public:
  Time now() const override { return Time(time); }
  std::chrono::nanoseconds elapsed() const override { return time; }
  void raise(Event event) override { events.push_back(std::move(event)); }
  void send(const NodeName& who, ToNode message) override { sent.emplace_back(who, std::move(message)); }
  bool knows(const NodeName& who) const override { return nodes.contains(who); }
  std::vector<NodeName> known() const override { return {nodes.begin(), nodes.end()}; }
  void wake_once_in(std::chrono::milliseconds wait) override { wakes.push_back(wait); }
  void tell_end(const RunStatus&) override { ++ends_told; }

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
};

/// Nobody is connected.
class NoConnections final : public NodeConnections {
 public:
  node_actor sender() const override { return {}; }
  void answer(const node_actor&, const Stop& stop) override { answers.push_back(stop); }
  void connect(const NodeName&, const node_actor&) override {}
  bool is_connection_of(const NodeName&, const node_actor&) const override { return false; }
  caf::actor_addr address_of(const NodeName&) const override { return {}; }
  std::vector<NodeName> known_at(const caf::actor_addr&) const override { return {}; }
  void forget_all() override { ++forgotten; }
  void forget_all_but(const std::vector<NodeName>&) override {}

  std::vector<Stop> answers;
  int forgotten = 0;
};

/// Each action by its name, with its reason: "lost replica 1: it hangs".
class RecordedActions final : public ViewActions, public EndActions {
 public:
  void lost(const NodeName& who, const std::string&, const std::string& reason, bool) override {
    did("lost " + who.text() + ": " + reason);
  }
  void turn_away(const NodeName& who, const std::string& reason, bool) override {
    did("turn away " + who.text() + ": " + reason);
  }
  void feed_newcomers() override { did("feed newcomers"); }
  void close_view() override { did("close view"); }
  void next_view() override { did("next view"); }
  void install(const View& view) override { did("install " + std::to_string(view.number)); }
  void go_on() override { did("go on"); }
  void fail(const std::string& reason) override { did("fail: " + reason); }
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
  bool keeps_state = false;

 private:
  void did(std::string what) { all.push_back(std::move(what)); }
};

}  // namespace muster::testing
