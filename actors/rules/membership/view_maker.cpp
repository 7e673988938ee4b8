#include "actors/rules/membership/view_maker.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "actors/rules/nodes/held_state.hpp"
#include "actors/rules/nodes/leaving.hpp"
#include "actors/rules/steps/parts.hpp"
#include "base/canary.hpp"
#include "config/placement.hpp"

namespace muster {

ViewRules::ViewRules(const Job& job)
    : shards(job.train.shards),
      min_replicas(std::max(job.cluster.min_replicas, 1u)),
      needs_loader(job.cluster.loaders > 0),
      replicas_load(job.cluster.replicas_load()),
      in_parts(job.train.in_parts()),
      buddy_on_host(job.train.shards_have_state() &&
                    job.train.compression.second_copy == SecondCopy::same_host),
      memory_bytes(job.data.memory_bytes) {}

// ---- the first one, and what is missing

View ViewMaker::first() const {
  std::vector<NodeName> names;
  DataFacts facts;
  for (const auto& [name, record] : nodes_) {
    if (!is_ready(record) || !record.preparation.tried) continue;
    if (record.prepared.loads) facts = record.prepared.facts;
    names.push_back(name);
  }
  View view = make(1, names);
  view.facts = facts;
  return view;
}

std::string ViewMaker::missing_to_begin() const {
  const std::uint32_t here = nodes_.ready(false);
  return here < rules_.min_replicas ? misses_replicas(here) : misses_loader(first());
}

std::string ViewMaker::misses_replicas(std::uint64_t here) const {
  return std::to_string(rules_.min_replicas - here) +
         " more replicas (cluster.min_replicas = " + std::to_string(rules_.min_replicas) + ")";
}

std::string ViewMaker::misses_loader(const View& view) const {
  if (!rules_.needs_loader || !view.loaders.empty()) return {};
  if (!rules_.replicas_load) return "a loader process";
  for (const Member& member : view.replicas) {
    if (!nodes_.at(member.name).prepared.loads)
      return "a loader process, for " + member.name.text() + " cannot read the data itself";
  }
  return {};
}

// ---- how one is made of those who are in it

// Replicas of one host side by side, whatever the order in which they came: what a host adds up is then few
// nodes of the canonical tree, and little goes between hosts. Hosts are in the order of their first replicas.
std::vector<NodeName> ViewMaker::side_by_side(std::vector<NodeName> names) const {
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

View ViewMaker::make(std::uint32_t number, const std::vector<NodeName>& names) const {
  View view;
  view.number = number;
  view.batch_bytes_max = rules_.memory_bytes;
  const auto replicas =
      std::count_if(names.begin(), names.end(), [](const auto& name) { return !name.loader; });
  const auto intervals = place_shards(rules_.shards, std::max(static_cast<std::uint32_t>(replicas), 1u));
  for (const NodeName& name : side_by_side(names)) {
    Member member = nodes_.member_of(name);
    member.since = nodes_.view().holds(name) ? nodes_.at(name).view.since : number;
    if (!name.loader) {
      member.begin = intervals[view.replicas.size()].begin;
      member.end = intervals[view.replicas.size()].end;
      member.clean = nodes_.at(name).bits.clean;
      member.alone_from = nodes_.at(name).bits.alone_from;
      if (!nodes_.at(name).bits.proven) view.unproven.push_back(name.slot);
    }
    (name.loader ? view.loaders : view.replicas).push_back(member);
  }
  view.sums_on_gpus = std::all_of(view.replicas.begin(), view.replicas.end(), [this](const Member& member) {
    return nodes_.at(member.name).prepared.sums_on_gpu;
  });
  if (rules_.in_parts) pair_up(view);
  return view;
}

// Each replica has a buddy, which holds its part, too.
void ViewMaker::pair_up(View& view) const {
  std::vector<std::string> hosts;
  for (const Member& member : view.replicas) hosts.push_back(nodes_.at(member.name).prepared.host);
  const auto places = rules_.buddy_on_host ? buddies_within_hosts(hosts) : buddies(hosts);
  for (std::size_t i = 0; i < places.size(); ++i) view.replicas[i].buddy = view.replicas[places[i]].name.slot;
}

// ---- who goes on

// Who goes on into the next view: members and newcomers that miss no more than can be sent (a newcomer
// that was just made a member may miss more than the rest still keep, if its donor is gone). A loader has no
// state: it is taken in as soon as it fits.
std::vector<NodeName> ViewMaker::staying(std::uint64_t records, std::uint64_t kept_from,
                                         const std::set<std::uint32_t>& held_back) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    const bool leaves = record.leaving && (name.loader || !held_back.contains(name.slot));
    if (gone(record) || leaves) continue;
    const bool was_in = nodes_.view().holds(name);
    if (name.loader) {
      if (was_in || (record.stage == NodeStage::prepared && record.preparation.tried)) names.push_back(name);
      continue;
    }
    const bool comes = (record.stage == NodeStage::closed || record.stage == NodeStage::caught_up) &&
                       record.held.records <= records;
    const bool ahead = rules_.in_parts && record.held.records > records;
    if ((was_in || comes) && !ahead && record.held.records + 1 >= kept_from) names.push_back(name);
  }
  return names;
}

// Each reads its state from the disk. Where that leaves too few, newcomers that were not given one come, too.
std::vector<NodeName> ViewMaker::all_who_can_read() const {
  std::vector<NodeName> names = staying(std::numeric_limits<std::uint64_t>::max(), 0, {});
  const auto replicas = std::ranges::count_if(names, [](const NodeName& name) { return !name.loader; });
  if (static_cast<std::uint32_t>(replicas) >= rules_.min_replicas) return names;
  for (const auto& [name, record] : nodes_) {
    const bool comes =
        !name.loader && !record.leaving && record.stage == NodeStage::prepared && record.preparation.tried;
    if (comes && !nodes_.view().holds(name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// Who wants to leave and is held back counts as any other; one that came last and holds no part of the
// optimizer yet does not, for the others hold the parts where they are.
std::vector<NodeName> ViewMaker::members_with_state(const PartSource& source, bool from_disk,
                                                    const std::set<std::uint32_t>& held_back) const {
  std::vector<NodeName> names;
  for (const std::uint32_t slot : replicas_left(nodes_)) {
    const bool leaves = nodes_.at({false, slot}).leaving && !held_back.contains(slot);
    if (!leaves && (!rules_.in_parts || from_disk || holds_part(source, slot)))
      names.push_back({false, slot});
  }
  return names;
}

// Of those that hold every record, the one that can go back furthest.
std::uint32_t ViewMaker::best_donor(const std::vector<NodeName>& holders) const {
  const auto better = [this](const NodeName& a, const NodeName& b) {
    const NodeRecord &one = nodes_.at(a), &other = nodes_.at(b);
    if (one.held.records != other.held.records)
      return canary("least-records") ? one.held.records < other.held.records
                                     : one.held.records > other.held.records;
    return one.held.kept_from < other.held.kept_from;
  };
  return std::ranges::min_element(holders, better)->slot;
}

// Beyond all that a member has been told of: the last view of a run may be missing in the journal.
std::uint32_t ViewMaker::next_number(const View& last) const {
  std::uint32_t number = last.number;
  for (const auto& [name, record] : nodes_) {
    if (record.member && !gone(record)) number = std::max(number, record.view.number);
  }
  return number + 1;
}

// Members, and newcomers that closed the view with them: no member gives them its state. They come again.
std::vector<NodeName> ViewMaker::unfit_for(const View& view) const {
  std::vector<NodeName> names;
  for (const auto& [name, record] : nodes_) {
    const bool closed_it = record.member && !name.loader && !gone(record) && !record.leaving;
    if (closed_it && !view.holds(name)) names.push_back(name);
  }
  return names;
}

// ---- the next one

namespace {

// Some have gone back already, others not yet: all do it again.
bool goes_back_again(const View& last, const NodeTable& nodes) {
  return last.back && latest_view_taken(nodes) < last.number;
}

}  // namespace

PartSource ViewMaker::where_parts_are(const View& last) const {
  if (goes_back_again(last, nodes_)) return last.source;
  return rules_.in_parts ? source_after(last, latest_view_taken(nodes_)) : PartSource{};
}

NextView ViewMaker::next(const View& last) const {
  const bool goes_back = goes_back_again(last, nodes_);
  PartSource source = where_parts_are(last);
  const std::set<std::uint32_t> held_back = to_hold_back(nodes_, rules_.in_parts ? &source : nullptr);
  const auto lost = lost_part(source, replicas_left(nodes_));
  const bool from_disk = goes_back || (rules_.in_parts && (lost || source.view == 0));
  std::vector<NodeName> holders = members_with_state(source, from_disk, held_back);
  if (holders.empty() && !canary("newcomers-hold-nothing")) holders = newcomers_with_state(nodes_);
  if (holders.empty()) return {std::nullopt, "no replica that holds the state is left", std::nullopt};
  const std::uint32_t donor = best_donor(holders);
  const NodeRecord& best = nodes_.at({false, donor});
  const std::uint64_t records = from_disk ? source.records : best.held.records;
  View view = make(next_number(last),
                   from_disk ? all_who_can_read() : staying(records, best.held.kept_from, held_back));
  view.source = std::move(source);
  view.term = last.term;
  view.facts = last.facts;
  view.records = records;
  view.donor = donor;
  for (const Member& member : view.replicas) {
    const std::uint64_t has = nodes_.at(member.name).held.records;
    if (has < records && !from_disk) view.behind.push_back({member.name.slot, has});
  }
  if (view.replicas.size() < rules_.min_replicas) {
    return {std::nullopt, misses_replicas(view.replicas.size()), std::nullopt, unfit_for(view)};
  }
  if (const std::string loader = misses_loader(view); !loader.empty())
    return {std::nullopt, loader, std::nullopt};
  return {view, {}, lost};
}

NextView ViewMaker::next_if_trained(const View& last) const {
  ViewRules few_are_enough = rules_;
  few_are_enough.min_replicas = 1;
  few_are_enough.needs_loader = false;
  return ViewMaker(nodes_, few_are_enough).next(last);
}

NextView ViewMaker::last_of_run(const View& last) const {
  NodeTable all = nodes_;
  for (auto& [name, record] : all.all()) {
    if (all.view().holds(name)) record.leaving = false;  // a newcomer that asked to go has been let go
  }
  NextView next = ViewMaker(all, rules_).next_if_trained(last);
  if (next.view) next.view->last = true;
  return next;
}

bool ViewMaker::can_spare(const View& last, const NodeName& who) const {
  std::set<std::uint32_t> left = replicas_left(nodes_);
  if (!who.loader) left.erase(who.slot);
  return !lost_part(where_parts_are(last), left);
}

bool ViewMaker::cannot_read(const NodeName& who) const {
  return rules_.needs_loader && rules_.replicas_load && !who.loader && !nodes_.any_loader() &&
         !nodes_.at(who).prepared.loads;
}

std::vector<NodeName> ViewMaker::who_cannot_read(const View& last) const {
  NodeTable readers = nodes_;
  std::vector<NodeName> names;
  for (auto& [name, record] : readers.all()) {
    if (!is_ready(record) || !cannot_read(name)) continue;
    record.stage = NodeStage::lost;
    names.push_back(name);
  }
  const NextView next = ViewMaker(readers, rules_).next(last);
  const bool lost_anyway = lost_part(where_parts_are(last), replicas_left(nodes_)).has_value();
  return next.view && (!next.lost || lost_anyway) ? names : std::vector<NodeName>{};
}

std::string ViewMaker::shards_of(const NodeName& name) const {
  if (name.loader) return "-";
  const View view = nodes_.view().number > 0 ? nodes_.view() : first();
  for (const Member& member : view.replicas) {
    if (member.name == name && member.begin < member.end)
      return std::to_string(member.begin) + "-" + std::to_string(member.end - 1);
  }
  return "-";
}

}  // namespace muster
