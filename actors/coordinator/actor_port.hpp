// The ports of the coordinator's parts, over the actor: its clock, its connections, whoever listens to the
// run.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "actors/coordinator/facts/coordinator_port.hpp"
#include "actors/coordinator/facts/run_facts.hpp"

namespace muster {

class ActorPort final : public CoordinatorPort, public NodeConnections {
 public:
  explicit ActorPort(RunFacts& run) : run_(run) {}
  /// Before any other call.
  void start(coordinator_actor::pointer self);

  Time now() const override { return self_->clock().now(); }
  std::chrono::nanoseconds elapsed() const override { return now() - began_; }
  void raise(Event event) override;
  void send(const NodeName& who, ToNode message) override;
  bool knows(const NodeName& who) const override { return nodes_.contains(who); }
  std::vector<NodeName> known() const override;
  void wake_once_in(std::chrono::milliseconds time) override;
  void tell_end(const RunStatus& status) override;

  node_actor sender() const override { return caf::actor_cast<node_actor>(self_->current_sender()); }
  void answer(const node_actor& node, const Stop& stop) override { self_->send(node, stop); }
  void connect(const NodeName& who, const node_actor& node) override;
  bool is_connection_of(const NodeName& who, const node_actor& node) const override;
  caf::actor_addr address_of(const NodeName& who) const override { return nodes_.at(who).address(); }
  std::vector<NodeName> known_at(const caf::actor_addr& address) const override;
  void forget_all() override { nodes_.clear(); }
  void forget_all_but(const std::vector<NodeName>& stay) override;

  /// The event `progress`, if the job tells of this step: it is counted, and not kept.
  void raise_progress(const Progress& message);
  /// The sender of the message that is being handled is answered by tell_end.
  caf::typed_response_promise<RunStatus> answer_at_end();

 private:
  void report(const Event& event) const;

  RunFacts& run_;
  coordinator_actor::pointer self_ = nullptr;
  Time began_{};
  std::map<NodeName, node_actor> nodes_;
  // Who wait for the end; each at most once.
  std::vector<std::pair<caf::actor_addr, caf::typed_response_promise<RunStatus>>> end_waiters_;
};

}  // namespace muster
