// What can be seen of the simulated cluster, and what is left of it when all has ended.
#include <algorithm>

#include "tests/simulation/cluster.hpp"

namespace muster::simulation {

std::vector<std::string> Cluster::nodes() const {
  std::vector<std::string> names;
  for (const NodeProcess& each : nodes_) names.push_back(each.name);
  return names;
}

bool Cluster::alive(const std::string& name) const {
  const NodeProcess* who = find(name);
  return who && world_->alive(who->process);
}

bool Cluster::was_reaped_within(const std::string& name, Nanoseconds time) const {
  const NodeProcess* who = find(name);
  return who && who->reaped_after && *who->reaped_after <= time;
}

bool Cluster::unlike(const std::string& name) const {
  const NodeProcess* who = find(name);
  return who && who->errors->unlike;
}

bool Cluster::without_data(const std::string& name) const {
  const NodeProcess* who = find(name);
  return who && who->errors->no_data;
}

std::string Cluster::walled_from(const std::string& name) const {
  const NodeProcess* who = find(name);
  const auto host = [](const std::string& node) { return simulated_host(node + "#1"); };
  return who && !who->walled_from.empty() && host(who->name) != host(who->walled_from) ? who->walled_from
                                                                                       : "";
}

bool Cluster::is_blind(const std::string& name) const {
  const NodeProcess* who = find(name);
  return who && *who->blind;
}

std::size_t Cluster::nodes_alive() const {
  return static_cast<std::size_t>(std::count_if(
      nodes_.begin(), nodes_.end(), [this](const NodeProcess& each) { return world_->alive(each.process); }));
}

std::string Cluster::tear_down() {
  if (!system_) return {};
  auto& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  const auto drain = [&] {
    while (scheduler.try_run_once()) {
    }
  };
  end_coordinator();
  for (NodeProcess& each : nodes_) {
    world_->end(each.process);
    caf::anon_send_exit(each.actor, caf::exit_reason::kill);
    each.actor = nullptr;
  }
  coordinator_ = nullptr;
  usurped_ = nullptr;
  world_->finish();
  drain();
  control_->close_all();
  drain();
  scheduler.clock().cancel_all();
  drain();
  std::string left;
  const auto expect_none = [&](const std::string& what, std::size_t count) {
    if (count > 0) left += (left.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  expect_none("actors", system_->registry().running());
  expect_none("engines", things_->engines);
  expect_none("proxies", control_->proxies_alive());
  expect_none("trainer_states",
              static_cast<std::size_t>(std::count_if(
                  nodes_.begin(), nodes_.end(), [](const NodeProcess& n) { return !n.trainer->expired(); })));
  control_.reset();
  network_.reset();
  world_.reset();
  system_.reset();
  return left;
}

}  // namespace muster::simulation
