// What a coordinator tells of its nodes, and who asks how its run stands. Decides nothing.
#include <algorithm>

#include "actors/coordinator/coordinator.hpp"
#include "actors/events/event.hpp"
#include "actors/events/event_fields.hpp"

namespace muster {

namespace {

constexpr std::size_t kWaitersMax = 64;
constexpr const char* kTraining = "training";

std::string state_of(const NodeRecord& record, bool away) {
  if (record.leaving) return "leaves";
  if (away) return "away";
  if (record.member) return "member";
  return record.stage == NodeStage::joined ? "prepares" : "newcomer";
}

std::string texts_of(const std::vector<NodeName>& names) {
  std::string text;
  for (const NodeName& name : names) text += (text.empty() ? "" : ", ") + name.text();
  return text;
}

bool all_have_come(const Membership& membership) {
  const auto complete = [](std::pair<std::uint32_t, std::uint32_t> arrived) {
    return arrived.first >= arrived.second;
  };
  return complete(membership.admission().arrived(false)) && complete(membership.admission().arrived(true));
}

}  // namespace

caf::result<RunStatus> CoordinatorState::on(const StatusRequest& message) {
  if (!message.at_end || end_.finished()) return status();
  const auto asker = caf::actor_cast<caf::actor_addr>(self_->current_sender());
  std::erase_if(end_waiters_, [&](const auto& each) { return each.first == asker; });
  if (end_waiters_.size() >= kWaitersMax)
    end_waiters_.erase(end_waiters_.begin());  // if it lives, it asks again
  end_waiters_.emplace_back(asker, self_->make_response_promise<RunStatus>());
  return end_waiters_.back().second;
}

void CoordinatorState::notify_end_waiters() {
  for (auto& [asker, waiter] : end_waiters_) waiter.deliver(status());
  end_waiters_.clear();
}

RunStatus CoordinatorState::status() const {
  RunStatus status;
  status.job = setup_.job.name;
  std::tie(status.state, status.detail) = how_it_stands();
  status.elapsed_s = std::chrono::duration<double>(elapsed()).count();
  status.view = view_.number;
  const Heard heard = heard_of();
  status.step = std::max(heard.steps, checkpoints_->last().step);
  status.samples = heard.samples;
  const auto& train = setup_.job.train;
  status.steps = train.steps.value_or(train.epochs.value_or(1) * view_.facts.steps_per_epoch);
  if (const Progress* last = training_.last()) {
    status.epoch = last->epoch;
    status.loss = last->loss;
    if (status.state == kTraining) status.samples_per_second = training_.rate();
  }
  status.checkpoint = checkpoints_->last().path;
  status.checkpoint_step = checkpoints_->last().step;
  for (const auto& [node, record] : membership_->nodes()) {
    if (record.stage == NodeStage::expected || gone(record)) continue;
    status.nodes.push_back({node, state_of(record, away_.contains(node)), record.process.host,
                            record.process.address, record.process.device, record.process.pid,
                            record.last.step});
  }
  return status;
}

// By the heartbeats of members: who speaks for all may be gone, or tells of few steps in a second. Not while
// they go back, and what they did before counts no more.
CoordinatorState::Heard CoordinatorState::heard_of() const {
  Heard heard{report_.steps, report_.samples};
  if (suspects_.any() || is_going_back()) return heard;
  for (const Member& member : view_.replicas) {
    const NodeRecord* record = membership_->find(member.name);
    if (record && record->last.step > heard.steps) heard = {record->last.step, record->last.samples};
  }
  return heard;
}

// An event that names a node says where that one is, if it has come.
void CoordinatorState::add_where(Event& event) const {
  for (const bool loader : {false, true}) {
    const NodeName node{loader, static_cast<std::uint32_t>(event.integer(loader ? "loader" : "replica"))};
    if (!event.has(kind(node))) continue;
    const NodeRecord* record = membership_->find(node);
    if (record) where(event, record->process.host, record->process.address);
    return;
  }
}

void CoordinatorState::report_arrived(const NodeName& who) {
  std::vector<std::pair<std::string, EventValue>> fields{{kind(who), number(who.slot)},
                                                         {"pid", membership_->at(who).process.pid}};
  if (!begun_) {
    const auto [here, places] = membership_->admission().arrived(who.loader);
    fields.insert(fields.end(), {{"here", number(here)}, {"places", number(places)}});
  }
  raise(make_event("arrived", fields));
}

std::string CoordinatorState::whom_it_waits_for() const {
  if (begun_ || end_.decided() || membership_->nodes().empty()) return {};
  std::string text;
  for (const bool loader : {false, true}) {
    const auto [here, places] = membership_->admission().arrived(loader);
    if (places == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(here) + " of " + std::to_string(places) +
            (loader ? " loaders" : " replicas") + (here == 1 ? " is here" : " are here");
  }
  return text;
}

// The state in one word or two, and what there is to say of it.
std::pair<std::string, std::string> CoordinatorState::how_it_stands() const {
  if (end_.decided()) return {report_.outcome, report_.reason};
  if (end_.keeps_state()) return {"ending", end_.reason() + ": a last checkpoint is written"};
  if (silence_.lasts()) return {"paused", "no sign of life from its members"};
  switch (phase_) {
    case CoordinatorPhase::forming: {
      if (!all_have_come(*membership_)) return {"waiting", "for nodes: " + whom_it_waits_for()};
      const std::string behind = list_of(nodes_behind(membership_->nodes()));
      return {"waiting", behind.empty() ? "" : "for " + behind + " to be ready"};
    }
    case CoordinatorPhase::adopting:
      return {"waiting",
              "was started again: for " + texts_of(membership_->returns().missing()) + " to come back"};
    case CoordinatorPhase::paused:
      return {"paused", "waits for " + recovery_.missing()};
    case CoordinatorPhase::noting:
      return {"paused", "the journal cannot be written"};
    case CoordinatorPhase::closing:
    case CoordinatorPhase::installing:
      return {"changing view", ""};
    case CoordinatorPhase::running:
      break;
  }
  std::string stalled;
  for (const NodeName& who : stalled_replicas(membership_->nodes(), setup_.job.cluster.straggler.stuck_after))
    stalled += (stalled.empty() ? "" : ", ") + who.text() + " " + what_it_does(who);
  return {kTraining, stalled};
}

}  // namespace muster
