// Which nodes make the next view, and what it begins with. Pure rules: they read the nodes, and change none.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/messages/view.hpp"
#include "actors/rules/nodes/node_table.hpp"
#include "muster/job.hpp"

namespace muster {

/// A view, or what is missing for one.
struct NextView {
  std::optional<View> view;
  std::string missing;
  /// Of a part of the optimizer: the view has yet to be told what to go back to.
  std::optional<PartHolder> lost;
  /// Without a view: who closed the last one and misses more than can be sent.
  std::vector<NodeName> unfit = {};
};

/// What the job says of its views.
struct ViewRules {
  explicit ViewRules(const Job& job);

  std::uint32_t shards;
  std::uint32_t min_replicas;
  bool needs_loader;   ///< it has loader processes,
  bool replicas_load;  ///< and replicas may load for themselves without one (cluster.on_loader_loss)
  bool in_parts;       ///< not every replica has the whole state
  bool buddy_on_host;  ///< a part's second copy stays on its host
  std::uint64_t memory_bytes;
};

class ViewMaker {
 public:
  ViewMaker(const NodeTable& nodes, const ViewRules& rules) : nodes_(nodes), rules_(rules) {}

  /// View 1: all replicas and loaders that are ready, shards dealt contiguously.
  View first() const;
  /// What is missing to begin with fewer than the job has places for, for people; empty if nothing is.
  std::string missing_to_begin() const;

  /// The view after `last`, when all who are left have closed that one: its shards dealt anew, its records
  /// the most that any of them holds, so that a step which one of them may have applied stands, and one that
  /// none has is done again. A newcomer is in it if the donor can send all that it misses; where no
  /// member is left, those that were given the whole state go on with it. No view, but what is missing, if
  /// the job needs more nodes.
  NextView next(const View& last) const;
  /// The same where no round is left, and only answers and checkpoints are owed: few are enough.
  NextView next_if_trained(const View& last) const;
  /// The same of a run that is to end: all who are left, be they few, without a loader, or asked to leave.
  NextView last_of_run(const View& last) const;

  /// Whether each part of the state has another holder that is left.
  bool can_spare(const View& last, const NodeName& who) const;
  /// Who keeps the view after `last` from being made: no loader is left, and of the replicas that may load
  /// for themselves these cannot read the data. Without them there is a view; none, if there would not be.
  std::vector<NodeName> who_cannot_read(const View& last) const;
  /// No loader is left, and this replica cannot load for itself as the others do.
  bool cannot_read(const NodeName& who) const;

  /// Those of a replica in the view in force: "0-3"; "-" if it has none.
  std::string shards_of(const NodeName& name) const;

 private:
  std::string misses_replicas(std::uint64_t here) const;
  std::string misses_loader(const View& view) const;
  std::vector<NodeName> side_by_side(std::vector<NodeName> names) const;
  View make(std::uint32_t number, const std::vector<NodeName>& names) const;
  void pair_up(View& view) const;
  std::vector<NodeName> staying(std::uint64_t records, std::uint64_t kept_from,
                                const std::set<std::uint32_t>& held_back) const;
  std::vector<NodeName> all_who_can_read() const;
  std::vector<NodeName> members_with_state(const PartSource& source, bool from_disk,
                                           const std::set<std::uint32_t>& held_back) const;
  PartSource where_parts_are(const View& last) const;
  std::uint32_t best_donor(const std::vector<NodeName>& holders) const;
  std::uint32_t next_number(const View& last) const;
  std::vector<NodeName> unfit_for(const View& view) const;

  const NodeTable& nodes_;
  ViewRules rules_;
};

}  // namespace muster
