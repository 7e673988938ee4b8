#include "actors/rules/watch/complaints.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/canary.hpp"

namespace muster {

namespace {

// Members as places in a list, ordered by name; who complains of whom, without directions or doubles.
struct Graph {
  std::vector<Party> parties;
  std::vector<std::set<std::size_t>> edges;
};

Graph make_graph(std::vector<Party> parties, const std::vector<Complaint>& complaints) {
  std::sort(parties.begin(), parties.end(), [](const Party& a, const Party& b) { return a.name < b.name; });
  Graph graph{std::move(parties), {}};
  graph.edges.resize(graph.parties.size());
  const auto place = [&](const NodeName& name) {
    const auto found = std::find_if(graph.parties.begin(), graph.parties.end(),
                                    [&](const Party& party) { return party.name == name; });
    return static_cast<std::size_t>(found - graph.parties.begin());
  };
  for (const Complaint& complaint : complaints) {
    const std::size_t one = place(complaint.first), other = place(complaint.second);
    if (one == other || one == graph.parties.size() || other == graph.parties.size()) continue;
    graph.edges[one].insert(other);
    graph.edges[other].insert(one);
  }
  return graph;
}

// Ascending places of one group that complaints connect.
std::vector<std::size_t> group_of(const Graph& graph, std::size_t first) {
  std::set<std::size_t> seen{first};
  std::vector<std::size_t> open{first};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    for (const std::size_t next : graph.edges[at]) {
      if (seen.insert(next).second) open.push_back(next);
    }
  }
  return {seen.begin(), seen.end()};
}

// What a choice costs: how many, then how many shards, then low numbers. Less is better.
struct Choice {
  std::vector<std::size_t> taken;  // descending once it is whole
  std::uint64_t shards = 0;

  bool better_than(const Choice& other) const {
    if (taken.size() != other.taken.size()) return taken.size() < other.taken.size();
    if (shards != other.shards) return shards < other.shards;
    return taken > other.taken;
  }
};

// Branch and bound over one group: the member with most open complaints goes, or all whom it quarrels with.
class Search {
 public:
  Search(const Graph& graph, std::vector<std::size_t> group) : graph_(graph), group_(std::move(group)) {}

  Choice run() {
    descend();
    return *best_;
  }

 private:
  bool open(std::size_t place) const { return taken_.count(place) == 0; }
  std::vector<std::size_t> quarrels(std::size_t place) const {
    std::vector<std::size_t> with;
    for (const std::size_t other : graph_.edges[place]) {
      if (open(other)) with.push_back(other);
    }
    return with;
  }
  void keep() {
    Choice choice{{taken_.rbegin(), taken_.rend()}, 0};
    for (const std::size_t place : choice.taken) choice.shards += graph_.parties[place].shards;
    if (!best_ || choice.better_than(*best_)) best_ = std::move(choice);
  }

  void descend() {
    std::size_t worst = 0, most = 0, left = 0;
    for (const std::size_t place : group_) {
      if (!open(place)) continue;
      const std::size_t degree = quarrels(place).size();
      left += degree;
      if (degree > most) worst = place, most = degree;
    }
    if (most == 0) return keep();
    // `left` / 2 complaints, of which one more member ends at most `most`.
    const std::size_t needed = (left / 2 + most - 1) / most;
    if (best_ && taken_.size() + needed > best_->taken.size()) return;
    const auto others = quarrels(worst);
    taken_.insert(worst);
    descend();
    taken_.erase(worst);
    taken_.insert(others.begin(), others.end());
    descend();
    for (const std::size_t other : others) taken_.erase(other);
  }

  const Graph& graph_;
  std::vector<std::size_t> group_;
  std::set<std::size_t> taken_;
  std::optional<Choice> best_;
};

// Both ends of every complaint that neither end of an earlier one settles: at most twice the fewest. Then
// whom nobody needs is let off, the most deserving first.
Choice approximately(const Graph& graph, const std::vector<std::size_t>& group) {
  std::vector<std::size_t> by_complaints(group);
  const auto deserves = [&](std::size_t place) {
    return std::tuple(graph.edges[place].size(), ~graph.parties[place].shards, place);
  };
  std::sort(by_complaints.begin(), by_complaints.end(),
            [&](std::size_t a, std::size_t b) { return deserves(a) > deserves(b); });
  std::set<std::size_t> taken;
  for (const std::size_t place : by_complaints) {
    if (taken.count(place) > 0) continue;
    const auto& others = graph.edges[place];
    const auto open =
        std::find_if(others.begin(), others.end(), [&](auto other) { return taken.count(other) == 0; });
    if (open != others.end()) taken.insert({place, *open});
  }
  for (auto place = by_complaints.rbegin(); place != by_complaints.rend(); ++place) {
    const auto& others = graph.edges[*place];
    if (std::all_of(others.begin(), others.end(), [&](auto other) { return taken.count(other) > 0; }))
      taken.erase(*place);
  }
  return {{taken.rbegin(), taken.rend()}, 0};
}

bool stands_still(const std::vector<Party>& parties, const NodeName& name) {
  return std::ranges::any_of(parties,
                             [&](const Party& party) { return party.name == name && party.stands_still; });
}

// The other end is not to blame. The coordinator has an eye on such a loader (judge_hanging).
bool is_needed_and_stands_still(const std::vector<Party>& parties, const NodeName& name) {
  return std::ranges::any_of(parties, [&](const Party& party) {
    return party.name == name && party.stands_still && party.shards == kNeeded;
  });
}

// Whose data plane stands still, and with whom somebody of `parties` has a quarrel. Not all replicas, and no
// loader that nobody could do without.
std::vector<NodeName> to_blame(const std::vector<Party>& parties, const std::vector<Complaint>& complaints) {
  const Graph graph = make_graph(parties, complaints);
  const bool others_work = std::ranges::any_of(
      parties, [](const Party& party) { return !party.name.loader && !party.stands_still; });
  std::vector<NodeName> names;
  for (std::size_t place = 0; place < graph.parties.size(); ++place) {
    const Party& party = graph.parties[place];
    const bool spared = party.shards == kNeeded || (!party.name.loader && !others_work);
    if (party.stands_still && !spared && !graph.edges[place].empty()) names.push_back(party.name);
  }
  return names;
}

}  // namespace

std::vector<NodeName> fewest_to_evict(const std::vector<Party>& parties,
                                      const std::vector<Complaint>& complaints) {
  std::vector<NodeName> evicted = to_blame(parties, complaints);
  std::vector<Complaint> open = complaints;
  const auto settles = [&](const NodeName& name) {
    return std::ranges::count(evicted, name) > 0 || is_needed_and_stands_still(parties, name);
  };
  std::erase_if(open, [&](const Complaint& each) { return settles(each.first) || settles(each.second); });
  const Graph graph = make_graph(parties, open);
  std::set<std::size_t> seen;
  for (std::size_t place = 0; place < graph.parties.size(); ++place) {
    if (graph.edges[place].empty() || seen.count(place) > 0) continue;
    const auto group = group_of(graph, place);
    seen.insert(group.begin(), group.end());
    const Choice choice =
        group.size() <= kExactPartiesMax ? Search(graph, group).run() : approximately(graph, group);
    for (const std::size_t taken : choice.taken) evicted.push_back(graph.parties[taken].name);
  }
  std::sort(evicted.begin(), evicted.end());
  return evicted;
}

void ComplaintBook::add(const NodeName& by, const NodeName& about, const std::string& reason, Time now) {
  const bool known = std::any_of(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return entry.by == by && entry.about == about; });
  if (!known) entries_.push_back({by, about, reason, now});
}

void ComplaintBook::forget(const NodeName& name) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.by == name || entry.about == name; });
}

std::vector<ComplaintBook::Eviction> ComplaintBook::judge(
    const std::vector<Party>& alive, const std::function<Time(const NodeName&)>& last_heard, Time now) {
  if (entries_.empty() || now - entries_.front().since < window_) return {};
  // When it goes on, its link is as good as before; if not, they complain again.
  std::erase_if(entries_, [&](const Entry& entry) {
    return is_needed_and_stands_still(alive, entry.by) || is_needed_and_stands_still(alive, entry.about);
  });
  if (entries_.empty()) return {};
  const Time over = entries_.front().since + window_;
  std::vector<Complaint> complaints;
  for (const Entry& entry : entries_) {
    if (last_heard(entry.by) < over || last_heard(entry.about) < over) return {};
    complaints.emplace_back(entry.by, entry.about);
  }
  const auto why = [&](const NodeName& name) {
    return stands_still(alive, name) ? std::string("the thread of its data plane stands still")
                                     : "without " + name.text() + " the fewest replicas are lost";
  };
  std::vector<Eviction> evictions;
  const std::vector<NodeName> evicted = fewest_to_evict(alive, complaints);
  for (const NodeName& name : evicted) {
    Eviction eviction{name, {}, {}, {}};
    bool other_stays = false;
    for (const Entry& entry : entries_) {
      if (entry.by != name && entry.about != name) continue;
      const NodeName& other = entry.by == name ? entry.about : entry.by;
      eviction.by += (eviction.by.empty() ? "" : ", ") + entry.by.text();
      const bool stays = std::ranges::count(evicted, other) == 0;
      if (eviction.reason.empty() || (stays && !other_stays)) {
        other_stays = stays;
        eviction.other = other;
        eviction.reason = "the link between " + name.text() + " and " + other.text() + " is broken (" +
                          entry.by.text() + ": " + entry.reason + "); " + why(name);
      }
    }
    if (canary("both-ends-go")) {
      evictions.push_back(eviction);
      std::swap(eviction.name, eviction.other);
    }
    evictions.push_back(std::move(eviction));
  }
  return evictions;
}

}  // namespace muster
