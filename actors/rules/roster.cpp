#include "muster/actors/rules/roster.hpp"

#include <algorithm>
#include <utility>

#include "muster/config/placement.hpp"
#include "muster/transport/frame.hpp"

namespace muster {

Roster::Roster(const Job& job) : shards_(job.train.shards), memory_bytes_(job.data.memory_bytes) {
  for (std::uint32_t slot = 0; slot < job.cluster.replicas; ++slot) nodes_[{false, slot}];
  for (std::uint32_t slot = 0; slot < job.cluster.loaders; ++slot) nodes_[{true, slot}];
}

std::string Roster::join(const Join& join, std::chrono::nanoseconds now) {
  if (join.protocol != kProtocolVersion) {
    return "protocol version " + std::to_string(join.protocol) + ", this run speaks " +
           std::to_string(kProtocolVersion);
  }
  const auto found = nodes_.find(join.name);
  if (found == nodes_.end()) return "the run has no " + join.name.text();
  NodeRecord& record = found->second;
  if (record.stage != NodeStage::expected) {
    return join.name.text() + " has joined already, as process " + std::to_string(record.pid);
  }
  record.stage = NodeStage::joined;
  record.pid = join.pid;
  record.incarnation = join.incarnation;
  record.last_heard = now;
  return {};
}

std::string Roster::prepared(const Prepared& message) {
  NodeRecord& record = nodes_[message.name];
  record.stage = NodeStage::prepared;
  record.prepared = message;
  for (const auto& [name, other] : nodes_) {
    if (other.stage != NodeStage::prepared || name == message.name) continue;
    if (message.loads && other.prepared.loads && message.facts != other.prepared.facts) {
      return message.name.text() + " reads other data than " + name.text() + " (fingerprints " +
             message.facts.fingerprint + " and " + other.prepared.facts.fingerprint + ")";
    }
    if (!message.name.loader && !name.loader && message.state_sha256 != other.prepared.state_sha256) {
      return message.name.text() + " begins with other weights than " + name.text() + " (" +
             message.state_sha256 + " and " + other.prepared.state_sha256 +
             "): is its hardware or its library another one?";
    }
  }
  return {};
}

std::string Roster::done(const ReplicaDone& message) {
  NodeRecord& record = nodes_[{false, message.slot}];
  record.stage = NodeStage::done;
  record.done = message;
  for (const auto& [name, other] : nodes_) {
    if (name.loader || other.stage != NodeStage::done) continue;
    if (other.done.state_sha256 != message.state_sha256 || other.done.steps != message.steps) {
      return "replica " + std::to_string(message.slot) + " ends step " + std::to_string(message.steps) +
             " with weights " + message.state_sha256 + ", " + name.text() + " step " +
             std::to_string(other.done.steps) + " with " + other.done.state_sha256;
    }
  }
  return {};
}

void Roster::installed(const NodeName& name) {
  nodes_[name].stage = NodeStage::installed;
}

void Roster::heard(const Heartbeat& message, std::chrono::nanoseconds now) {
  const auto found = nodes_.find(message.name);
  if (found == nodes_.end()) return;
  found->second.last_heard = now;
  found->second.last_step = std::max(found->second.last_step, message.step);
}

void Roster::closed(const Closed& message) {
  NodeRecord& record = nodes_[message.name];
  record.stage = NodeStage::closed;
  record.records = message.records;
}

namespace {
bool gone(const NodeRecord& record) {
  return record.stage == NodeStage::left || record.stage == NodeStage::lost;
}
}  // namespace

bool Roster::all(NodeStage stage, bool replicas_only) const {
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return (replicas_only && node.first.loader) || gone(node.second) || node.second.stage == stage;
  });
}

std::uint32_t Roster::replicas_left() const {
  return static_cast<std::uint32_t>(std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return !node.first.loader && !gone(node.second);
  }));
}

bool Roster::alive(const NodeName& name) const {
  const auto found = nodes_.find(name);
  return found != nodes_.end() && found->second.stage != NodeStage::expected &&
         found->second.stage != NodeStage::left && found->second.stage != NodeStage::lost;
}

bool Roster::none_alive() const {
  return std::none_of(nodes_.begin(), nodes_.end(), [&](const auto& node) { return alive(node.first); });
}

std::optional<Roster::Silent> Roster::silent(std::chrono::nanoseconds now,
                                             std::chrono::nanoseconds patience) const {
  for (const auto& [name, record] : nodes_) {
    if (alive(name) && now - record.last_heard >= patience) return Silent{name, now - record.last_heard};
  }
  return std::nullopt;
}

NodeStage Roster::stage_behind() const {
  for (const NodeStage stage : {NodeStage::joined, NodeStage::prepared}) {
    if (!behind(stage).empty()) return stage;
  }
  return NodeStage::installed;
}

std::string Roster::behind(NodeStage stage) const {
  std::string names;
  for (const auto& [name, record] : nodes_) {
    if (record.stage >= stage) continue;
    names += (names.empty() ? "" : ", ") + name.text();
  }
  return names;
}

View Roster::view_of_all(std::uint32_t number) const {
  View view;
  view.number = number;
  view.batch_bytes_max = memory_bytes_;
  const auto intervals = place_shards(shards_, replicas_left());
  for (const auto& [name, record] : nodes_) {
    if (record.prepared.loads) view.facts = record.prepared.facts;
    if (gone(record)) continue;
    Member member{name, record.incarnation, record.prepared.address, 0, 0};
    if (!name.loader) {
      member.begin = intervals[view.replicas.size()].begin;
      member.end = intervals[view.replicas.size()].end;
    }
    (name.loader ? view.loaders : view.replicas).push_back(member);
  }
  return view;
}

View Roster::next_view(const View& last) const {
  View view = view_of_all(last.number + 1);
  view.facts = last.facts;
  for (const Member& member : view.replicas) view.records = std::max(view.records, at(member.name).records);
  bool found = false;
  for (const Member& member : view.replicas) {
    if (at(member.name).records < view.records) {
      view.behind.push_back(member.name.slot);
    } else if (!std::exchange(found, true)) {
      view.donor = member.name.slot;
    }
  }
  return view;
}

std::string Roster::shards_of(const NodeName& name) const {
  if (name.loader) return "-";
  const View view = view_.number > 0 ? view_ : view_of_all(1);
  for (const Member& member : view.replicas) {
    if (member.name == name) return std::to_string(member.begin) + "-" + std::to_string(member.end - 1);
  }
  return "-";
}

}  // namespace muster
