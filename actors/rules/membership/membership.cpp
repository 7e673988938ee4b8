#include "actors/rules/membership/membership.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "actors/rules/steps/parts.hpp"
#include "base/canary.hpp"
#include "config/placement.hpp"
#include "transport/frame.hpp"

namespace muster {

namespace {

// More than any host has; what a stranger says costs no more than this.
constexpr std::uint32_t kCoresMax = 4096;

}  // namespace

Membership::Membership(const Job& job, const FreeNumbers& first)
    : shards_(job.train.shards),
      free_(first),
      places_{job.cluster.replicas, job.cluster.loaders},
      min_replicas_(std::max(job.cluster.min_replicas, 1u)),
      strict_(job.cluster.reproducible == Reproducible::strict),
      may_differ_(job.cluster.on_corruption == OnCorruption::report),
      needs_loader_(job.cluster.loaders > 0),
      loads_here_(job.cluster.replicas_load()),
      in_parts_(job.train.in_parts()),
      buddies_within_hosts_(job.train.shards_have_state() &&
                            job.train.compression.second_copy == SecondCopy::same_host),
      memory_bytes_(job.data.memory_bytes),
      start_from_(job.checkpoint.start_from) {
  for (std::uint32_t i = 0; i < job.cluster.replicas; ++i) nodes_[{false, free_.replica++}];
  for (std::uint32_t i = 0; i < job.cluster.loaders; ++i) nodes_[{true, free_.loader++}];
}

Membership::Admission Membership::join(const Join& join) {
  if (join.protocol != kProtocolVersion) {
    return {join.name, "protocol version " + std::to_string(join.protocol) + ", this run speaks " +
                           std::to_string(kProtocolVersion)};
  }
  NodeName name = join.name;
  if (join.joins) {
    if (name.loader && !needs_loader_)
      return {name, "this run has no loader processes (cluster.loaders = 0)"};
    // A place that is still expected, else the next number.
    const auto expected = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) {
      return view_.number == 0 && node.first.loader == name.loader &&
             node.second.stage == NodeStage::expected;
    });
    if (expected != nodes_.end()) {
      name.slot = expected->first.slot;
    } else {
      name.slot = free_.of(name)++;
    }
  } else if (nodes_.count(name) == 0) {
    return {name, "the run has no " + name.text()};
  } else if (nodes_.at(name).stage != NodeStage::expected) {
    return {name, name.text() + " has joined already, as process " + std::to_string(nodes_.at(name).pid)};
  }
  NodeRecord& record = nodes_[name];
  record.stage = NodeStage::joined;
  record.pid = join.pid;
  record.incarnation = join.incarnation;
  record.launched = join.launched;
  record.host = join.host;
  record.address = join.address;
  return {name, {}};
}

bool Membership::all_begun(std::uint32_t view) const {
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return !waited_for(node.second) || (node.second.begun && node.second.in_view == view);
  });
}

std::string Membership::device_for(const Join& join) const {
  if (join.name.loader) return "-";
  if (!join.device.empty()) return join.device;
  // The core of that host that the fewest compute on.
  std::vector<std::uint32_t> users(std::clamp(join.cores, 1u, kCoresMax), 0);
  for (const auto& [name, record] : nodes_) {
    if (name.loader || !alive(name) || record.host != join.host || record.device.rfind("cpu:", 0) != 0)
      continue;
    const char* digits = record.device.data() + 4;
    std::size_t core = users.size();
    std::from_chars(digits, record.device.data() + record.device.size(), core);
    if (core < users.size()) ++users[core];
  }
  return "cpu:" + std::to_string(std::min_element(users.begin(), users.end()) - users.begin());
}

std::string Membership::prepared(const Prepared& message) {
  NodeRecord& record = nodes_[message.name];
  record.stage = NodeStage::prepared;
  record.prepared = message;
  return misfit(message.name);
}

std::string Membership::done(const ReplicaDone& message) {
  NodeRecord& record = nodes_[{false, message.slot}];
  record.stage = NodeStage::done;
  record.trained = true;
  record.done = message;
  for (const auto& [name, other] : nodes_) {
    if (name.loader || other.stage != NodeStage::done) continue;
    constexpr std::size_t kShown = 12;  // digits of a hash; the report has all of them
    const bool good = may_differ_ || other.done.state_sha256 == message.state_sha256;
    if (!good || other.done.steps != message.steps) {
      return "replica " + std::to_string(message.slot) + " ends step " + std::to_string(message.steps) +
             " with weights " + message.state_sha256.substr(0, kShown) + ", " + name.text() + " step " +
             std::to_string(other.done.steps) + " with " + other.done.state_sha256.substr(0, kShown);
    }
  }
  return {};
}

void Membership::installed(const NodeName& name) {
  nodes_[name].stage = NodeStage::installed;
}

void Membership::heard(const Heartbeat& message) {
  const auto found = nodes_.find(message.name);
  if (found == nodes_.end()) return;
  if (message.step > found->second.last_step) found->second.gives_nothing = false;  // it has gone on
  found->second.last_samples = message.samples;
  found->second.last_step = message.step;  // a lower one than before, if all have gone back
  if (!found->first.loader) found->second.work = work_of(message);
  const auto busy = found->second.work.hangs_for();
  found->second.hangs = std::max(std::chrono::milliseconds(message.still_ms), busy);
  found->second.still = std::max(found->second.still, std::chrono::milliseconds(message.still_ms));
}

void Membership::closed(const Closed& message) {
  NodeRecord& record = nodes_[message.name];
  record.stage = NodeStage::closed;
  record.records = message.records;
  record.kept_from = message.kept_from;
  record.took = message.took;
  record.proven = message.proven;
  record.trained = message.trained;
  // What it was given in this view is compared before its first step.
  if (record.member && record.proven && record.took == message.view) record.holds_of.clear();
  compared(message.view, message.clean);
}

void Membership::compared(std::uint32_t view, const std::vector<std::uint64_t>& clean) {
  if (view != view_.number || clean.size() != view_.replicas.size()) return;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const auto found = nodes_.find(view_.replicas[i].name);
    if (found != nodes_.end()) found->second.clean = later_clean(found->second.clean, clean[i]);
  }
}

bool Membership::waited_for(const NodeRecord& record) const {
  return !gone(record) && (view_.number == 0 || record.member);
}

bool Membership::all(NodeStage stage, bool replicas_only) const {
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return (replicas_only && node.first.loader) || !waited_for(node.second) || node.second.stage == stage;
  });
}

bool Membership::member(const NodeName& name) const {
  const auto found = nodes_.find(name);
  return found != nodes_.end() && found->second.member && !gone(found->second);
}

Member Membership::member_of(const NodeName& name) const {
  const NodeRecord& record = nodes_.at(name);
  return {.name = name,
          .incarnation = record.incarnation,
          .address = record.prepared.address,
          .holds_of = record.holds_of};
}

void Membership::entered(const View& view) {
  view_ = view;
  for (const Member& member : view.loaders) {
    if (const auto found = nodes_.find(member.name); found != nodes_.end())
      found->second.since = member.since;
  }
  for (const Member& member : view.replicas) {
    const auto found = nodes_.find(member.name);
    if (found == nodes_.end()) continue;
    found->second.since = member.since;
    found->second.alone_from = member.alone_from;
    found->second.clean = member.clean;
    found->second.holds_of = member.holds_of;
  }
  for (auto& [name, record] : nodes_) {
    record.member = view.holds(name);
    record.still = record.hangs = {};
    record.work = {};
    if (record.member) record.in_view = view.number;
    record.held_back = record.member && record.leaving;
    // Who was not taken in begins again with a state from a member of the new view.
    if (!record.member && !name.loader &&
        (record.stage == NodeStage::caught_up || record.stage == NodeStage::closed)) {
      record.stage = NodeStage::prepared;
    }
  }
}

bool Membership::alive(const NodeName& name) const {
  const auto found = nodes_.find(name);
  return found != nodes_.end() && found->second.stage != NodeStage::expected &&
         found->second.stage != NodeStage::left && found->second.stage != NodeStage::lost;
}

bool Membership::none_alive() const {
  return std::none_of(nodes_.begin(), nodes_.end(), [&](const auto& node) { return alive(node.first); });
}

NodeStage Membership::stage_behind() const {
  for (const NodeStage stage : {NodeStage::joined, NodeStage::prepared}) {
    if (!all_behind(stage).empty()) return stage;
  }
  return NodeStage::installed;
}

std::vector<NodeName> Membership::all_behind(NodeStage stage) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (waited_for(record) && record.stage < stage) names.push_back(name);
  }
  return names;
}

std::pair<std::uint32_t, std::uint32_t> Membership::arrived(bool loader) const {
  const auto here = static_cast<std::uint32_t>(std::ranges::count_if(
      nodes_, [&](const auto& node) { return node.first.loader == loader && alive(node.first); }));
  return {here, std::max(here, loader ? places_.loader : places_.replica)};
}

std::string Membership::behind(NodeStage stage) const {
  std::string names;
  for (const NodeName& name : all_behind(stage)) names += (names.empty() ? "" : ", ") + name.text();
  return names;
}

// Replicas of one host side by side, whatever the order in which they came: what a host adds up is then few
// nodes of the canonical tree, and little goes between hosts. Hosts are in the order of their first replicas.
std::vector<NodeName> Membership::side_by_side(std::vector<NodeName> names) const {
  const auto host = [this](const NodeName& name) { return nodes_.at(name).prepared.host; };
  std::map<std::string, NodeName> first;
  for (const NodeName& name : names) {
    if (!name.loader) first.emplace(host(name), name);
  }
  const auto place = [&](const NodeName& name) { return name.loader ? name : first.at(host(name)); };
  std::stable_sort(names.begin(), names.end(),
                   [&](const NodeName& a, const NodeName& b) { return place(a) < place(b); });
  return names;
}

View Membership::make_view(std::uint32_t number, const std::vector<NodeName>& names) const {
  View view;
  view.number = number;
  view.batch_bytes_max = memory_bytes_;
  const auto replicas =
      std::count_if(names.begin(), names.end(), [](const auto& name) { return !name.loader; });
  const auto intervals = place_shards(shards_, std::max(static_cast<std::uint32_t>(replicas), 1u));
  for (const NodeName& name : side_by_side(names)) {
    Member member = member_of(name);
    member.since = view_.holds(name) ? at(name).since : number;
    if (!name.loader) {
      member.begin = intervals[view.replicas.size()].begin;
      member.end = intervals[view.replicas.size()].end;
      member.clean = at(name).clean;
      member.alone_from = at(name).alone_from;
      if (!at(name).proven) view.unproven.push_back(name.slot);
    }
    (name.loader ? view.loaders : view.replicas).push_back(member);
  }
  view.sums_on_gpus = std::all_of(view.replicas.begin(), view.replicas.end(), [this](const Member& member) {
    return at(member.name).prepared.sums_on_gpu;
  });
  if (in_parts_) pair_up(view);
  return view;
}

// Each replica has a buddy, which holds its part, too.
void Membership::pair_up(View& view) const {
  std::vector<std::string> hosts;
  for (const Member& member : view.replicas) hosts.push_back(at(member.name).prepared.host);
  const auto places = buddies_within_hosts_ ? buddies_within_hosts(hosts) : buddies(hosts);
  for (std::size_t i = 0; i < places.size(); ++i) view.replicas[i].buddy = view.replicas[places[i]].name.slot;
}

std::uint32_t Membership::took() const {
  // Members give nothing before they have gone back themselves.
  if (replicas_left().empty() && !newcomers_with_state().empty()) return view_.number;
  std::uint32_t latest = 0;
  for (const auto& [name, record] : nodes_) {
    if (view_.holds(name) && !name.loader && !gone(record)) latest = std::max(latest, record.took);
  }
  return latest;
}

std::set<std::uint32_t> Membership::replicas_left() const {
  std::set<std::uint32_t> slots;
  for (const auto& [name, record] : nodes_) {
    if (view_.holds(name) && !name.loader && !gone(record)) slots.insert(name.slot);
  }
  return slots;
}

View Membership::first_view() const {
  std::vector<NodeName> names;
  DataFacts facts;
  for (const auto& [name, record] : nodes_) {
    if (gone(record) || record.stage < NodeStage::prepared || !record.tried) continue;
    if (record.prepared.loads) facts = record.prepared.facts;
    names.push_back(name);
  }
  View view = make_view(1, names);
  view.facts = facts;
  return view;
}

// Who goes on into the next view: members and newcomers that miss no more than can be sent (a newcomer
// that was just made a member may miss more than the rest still keep, if its donor is gone). A loader has no
// state: it is taken in as soon as it fits.
std::vector<NodeName> Membership::staying(std::uint64_t records, std::uint64_t kept_from,
                                          const std::set<std::uint32_t>& held_back) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    const bool leaves = record.leaving && (name.loader || !held_back.contains(name.slot));
    if (gone(record) || leaves) continue;
    const bool was_in = view_.holds(name);
    if (name.loader) {
      if (was_in || (record.stage == NodeStage::prepared && record.tried)) names.push_back(name);
      continue;
    }
    const bool comes = (record.stage == NodeStage::closed || record.stage == NodeStage::caught_up) &&
                       record.records <= records;
    const bool ahead = in_parts_ && record.records > records;
    if ((was_in || comes) && !ahead && record.records + 1 >= kept_from) names.push_back(name);
  }
  return names;
}

// Each reads its state from the disk. Where that leaves too few, newcomers that were not given one come, too.
std::vector<NodeName> Membership::all_who_can_read() const {
  std::vector<NodeName> names = staying(std::numeric_limits<std::uint64_t>::max(), 0, {});
  const auto replicas = std::ranges::count_if(names, [](const NodeName& name) { return !name.loader; });
  if (static_cast<std::uint32_t>(replicas) >= min_replicas_) return names;
  for (const auto& [name, record] : nodes_) {
    const bool comes = !name.loader && !record.leaving && record.stage == NodeStage::prepared && record.tried;
    if (comes && !view_.holds(name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<NodeName> Membership::who_hold_the_state(
    const std::function<bool(const NodeName&, const NodeRecord&)>& counts) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    if (!name.loader && !gone(record) && counts(name, record)) names.push_back(name);
  }
  return names;
}

// They were given all of it, and those who gave it may be gone.
std::vector<NodeName> Membership::newcomers_with_state() const {
  return who_hold_the_state([this](const NodeName& name, const NodeRecord& record) {
    const bool has_it = record.stage == NodeStage::closed || record.stage == NodeStage::caught_up;
    return has_it && !view_.holds(name) && !record.leaving;
  });
}

// Of those that hold every record, the one that can go back furthest.
std::uint32_t Membership::best_donor(const std::vector<NodeName>& holders) const {
  const auto better = [this](const NodeName& a, const NodeName& b) {
    const NodeRecord &one = at(a), &other = at(b);
    if (one.records != other.records)
      return canary("least-records") ? one.records < other.records : one.records > other.records;
    return one.kept_from < other.kept_from;
  };
  return std::ranges::min_element(holders, better)->slot;
}

Membership::Next Membership::next_view(const View& last) const {
  // Some have gone back already, others not yet: all do it again.
  const bool goes_back = last.back && took() < last.number;
  PartSource source = goes_back ? last.source : in_parts_ ? source_after(last, took()) : PartSource{};
  const std::set<std::uint32_t> held_back = to_hold_back(source);
  const auto lost = lost_part(source, replicas_left());
  const bool from_disk = goes_back || (in_parts_ && (lost || source.view == 0));
  // Who wants to leave and is held back counts as any other; one that came last and holds no part of the
  // optimiser yet does not, for the others hold the parts where they are.
  std::vector<NodeName> holders = who_hold_the_state([&](const NodeName& name, const NodeRecord& record) {
    const bool leaves = record.leaving && !held_back.contains(name.slot);
    return view_.holds(name) && !leaves && (!in_parts_ || from_disk || holds_part(source, name.slot));
  });
  if (holders.empty() && !canary("newcomers-hold-nothing")) holders = newcomers_with_state();
  if (holders.empty()) return {std::nullopt, "no replica that holds the state is left", {}};
  const std::uint32_t donor = best_donor(holders);
  const NodeRecord& best = at({false, donor});
  const std::uint64_t records = from_disk ? source.records : best.records;
  View view = make_view(next_number(last),
                        from_disk ? all_who_can_read() : staying(records, best.kept_from, held_back));
  view.source = std::move(source);
  view.term = last.term;
  view.facts = last.facts;
  view.records = records;
  view.donor = donor;
  for (const Member& member : view.replicas) {
    const std::uint64_t has = at(member.name).records;
    if (has < records && !from_disk) view.behind.push_back({member.name.slot, has});
  }
  if (view.replicas.size() < min_replicas_) {
    return {std::nullopt, missing_replicas(view.replicas.size()), {}, unfit_for(view)};
  }
  if (const std::string loader = misses_loader(view); !loader.empty()) return {std::nullopt, loader, {}};
  return {view, {}, lost};
}

// Members, and newcomers that closed the view with them: no member gives them its state. They come again.
std::vector<NodeName> Membership::unfit_for(const View& view) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    const bool closed_it = record.member && !name.loader && !gone(record) && !record.leaving;
    if (closed_it && !view.holds(name)) names.push_back(name);
  }
  return names;
}

std::string Membership::shards_of(const NodeName& name) const {
  if (name.loader) return "-";
  const View view = view_.number > 0 ? view_ : first_view();
  for (const Member& member : view.replicas) {
    if (member.name == name && member.begin < member.end)
      return std::to_string(member.begin) + "-" + std::to_string(member.end - 1);
  }
  return "-";
}

}  // namespace muster
