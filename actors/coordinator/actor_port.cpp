#include "actors/coordinator/actor_port.hpp"

#include <algorithm>
#include <optional>

#include "actors/coordinator/records/progress_history.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"

namespace muster {

namespace {

constexpr std::size_t kWaitersMax = 64;

// An event that names a node says where that one is, if it has come.
void add_where(Event& event, const Membership& membership) {
  for (const bool loader : {false, true}) {
    const NodeName node{loader, static_cast<std::uint32_t>(event.integer(loader ? "loader" : "replica"))};
    if (!event.has(kind(node))) continue;
    const NodeRecord* record = membership.find(node);
    if (record) where(event, record->process.host, record->process.address);
    return;
  }
}

}  // namespace

void ActorPort::start(coordinator_actor::pointer self) {
  self_ = self;
  began_ = self->clock().now();
}

void ActorPort::raise(Event event) {
  event.time_ms = milliseconds(elapsed());
  add_where(event, *run_.membership);
  run_.report.add(event);
  report(event);
}

void ActorPort::raise_progress(const Progress& message) {
  const auto row = run_.setup.progress ? run_.setup.progress->take(message, elapsed()) : std::nullopt;
  if (!row) return;
  Event event = event_of(*row);
  event.time_ms = row->time_ms;
  ++run_.report.event_counts[event.name];
  report(event);
}

void ActorPort::report(const Event& event) const {
  if (run_.setup.on_event) run_.setup.on_event(event);
}

// ---- nodes

void ActorPort::send(const NodeName& who, ToNode message) {
  const node_actor& node = nodes_.at(who);
  std::visit([&](auto& body) { self_->send(node, std::move(body)); }, message);
}

std::vector<NodeName> ActorPort::known() const {
  std::vector<NodeName> names;
  for (const auto& [who, node] : nodes_) names.push_back(who);
  return names;
}

void ActorPort::connect(const NodeName& who, const node_actor& node) {
  nodes_[who] = node;
  self_->monitor(node);
}

bool ActorPort::is_connection_of(const NodeName& who, const node_actor& node) const {
  return nodes_.at(who).address() == node.address();
}

std::vector<NodeName> ActorPort::known_at(const caf::actor_addr& address) const {
  std::vector<NodeName> names;
  for (const auto& [who, node] : nodes_) {
    if (node.address() == address) names.push_back(who);
  }
  return names;
}

void ActorPort::forget_all_but(const std::vector<NodeName>& stay) {
  std::erase_if(nodes_, [&](const auto& each) {
    return std::find(stay.begin(), stay.end(), each.first) == stay.end();
  });
}

// ---- the coordinator itself, and who asks how its run stands

void ActorPort::wake_once_in(std::chrono::milliseconds time) {
  self_->delayed_send(self_, time, Tick{true});
}

caf::typed_response_promise<RunStatus> ActorPort::answer_at_end() {
  const auto asker = caf::actor_cast<caf::actor_addr>(self_->current_sender());
  std::erase_if(end_waiters_, [&](const auto& each) { return each.first == asker; });
  if (end_waiters_.size() >= kWaitersMax)
    end_waiters_.erase(end_waiters_.begin());  // if it lives, it asks again
  end_waiters_.emplace_back(asker, self_->make_response_promise<RunStatus>());
  return end_waiters_.back().second;
}

void ActorPort::tell_end(const RunStatus& status) {
  for (auto& [asker, waiter] : end_waiters_) waiter.deliver(status);
  end_waiters_.clear();
}

}  // namespace muster
