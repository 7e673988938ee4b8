#include "actors/rules/membership/admission.hpp"

#include <algorithm>
#include <charconv>

#include "transport/frame.hpp"

namespace muster {

namespace {

// More than any host has; what a stranger says costs no more than this.
constexpr std::uint32_t kCoresMax = 4096;

}  // namespace

Admission::Admission(NodeTable& nodes, const Job& job, const FreeNumbers& first)
    : nodes_(nodes), fit_(nodes, job), free_(first), places_{job.cluster.replicas, job.cluster.loaders} {
  for (std::uint32_t i = 0; i < places_.replica; ++i) nodes_[{false, free_.replica++}];
  for (std::uint32_t i = 0; i < places_.loader; ++i) nodes_[{true, free_.loader++}];
}

Admission::Answer Admission::join(const Join& join) {
  if (join.protocol != kProtocolVersion) {
    return {join.name, "protocol version " + std::to_string(join.protocol) + ", this run speaks " +
                           std::to_string(kProtocolVersion)};
  }
  NodeName name = join.name;
  if (join.joins) {
    if (name.loader && places_.loader == 0)
      return {name, "this run has no loader processes (cluster.loaders = 0)"};
    // A place that is still expected, else the next number.
    const auto expected = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) {
      return nodes_.view().number == 0 && node.first.loader == name.loader &&
             node.second.stage == NodeStage::expected;
    });
    if (expected != nodes_.end()) {
      name.slot = expected->first.slot;
    } else {
      name.slot = free_.of(name)++;
    }
  } else if (const NodeRecord* known = nodes_.find(name); !known) {
    return {name, "the run has no " + name.text()};
  } else if (known->stage != NodeStage::expected) {
    return {name, name.text() + " has joined already, as process " + std::to_string(known->process.pid)};
  }
  NodeRecord& record = nodes_[name];
  record.stage = NodeStage::joined;
  record.process.pid = join.pid;
  record.process.incarnation = join.incarnation;
  record.process.launched = join.launched;
  record.process.host = join.host;
  record.process.address = join.address;
  return {name, {}};
}

void Admission::take_back(const NodeName& name) {
  nodes_.all().erase(name);
  if (free_.of(name) == name.slot + 1) --free_.of(name);
}

void Admission::given(const View& view) {
  for (const auto* members : {&view.replicas, &view.loaders}) {
    for (const Member& member : *members) free_.beyond(member.name);
  }
}

std::string Admission::device_for(const Join& join) const {
  if (join.name.loader) return "-";
  if (!join.device.empty()) return join.device;
  // The core of that host that the fewest compute on.
  std::vector<std::uint32_t> users(std::clamp(join.cores, 1u, kCoresMax), 0);
  for (const auto& [name, record] : nodes_) {
    const std::string& device = record.process.device;
    if (name.loader || !alive(record) || record.process.host != join.host || device.rfind("cpu:", 0) != 0)
      continue;
    const char* digits = device.data() + 4;
    std::size_t core = users.size();
    std::from_chars(digits, device.data() + device.size(), core);
    if (core < users.size()) ++users[core];
  }
  return "cpu:" + std::to_string(std::min_element(users.begin(), users.end()) - users.begin());
}

std::string Admission::prepared(const Prepared& message) {
  NodeRecord& record = nodes_[message.name];
  record.stage = NodeStage::prepared;
  record.prepared = message;
  return fit_.misfit(message.name);
}

bool Admission::any_prepares() const {
  return std::ranges::any_of(nodes_, [](const auto& node) { return node.second.stage == NodeStage::joined; });
}

std::vector<NodeName> Admission::late_to_prepare(std::int64_t ticks) {
  std::vector<NodeName> names;
  for (auto& [name, record] : nodes_.all()) {
    Preparation& preparation = record.preparation;
    if (record.stage != NodeStage::joined || preparation.late || ++preparation.ticks < ticks) continue;
    preparation.late = true;
    names.push_back(name);
  }
  return names;
}

bool Admission::full() const {
  return nodes_.ready(false) >= places_.replica && nodes_.ready(true) >= places_.loader;
}

std::pair<std::uint32_t, std::uint32_t> Admission::arrived(bool loader) const {
  const auto here = static_cast<std::uint32_t>(std::ranges::count_if(
      nodes_, [&](const auto& node) { return node.first.loader == loader && alive(node.second); }));
  return {here, std::max(here, loader ? places_.loader : places_.replica)};
}

void Admission::drop_expected() {
  std::erase_if(nodes_.all(), [](const auto& node) { return node.second.stage == NodeStage::expected; });
}

}  // namespace muster
