#include "tests/simulation/branches.hpp"

#include "tests/simulation/faults.hpp"

namespace muster::simulation {

namespace {

// What becomes of the parts of a sharded optimizer, and of the states of shards.
std::vector<Branch> dealt_table(const std::string& what, bool transferred, bool before_the_last) {
  return {
      {what + ": a newcomer is given some", true},
      {what + ": a record is transferred", transferred},
      {what + ": back to a checkpoint", false},
      {what + ": back to the beginning", true},
      {what + ": dealt anew", true},
      {what + ": given by a buddy", true},
      {what + ": one that wants to leave is held back", false},
      {what + ": those of the view before the last", before_the_last},
  };
}

std::vector<Branch> sums_table() {
  return {
      {"sums: auto", true},
      {"sums: direct", true},
      {"sums: halving and doubling", true},
      {"sums: hierarchical", true},
      {"sums: one shot", true},
      {"sums: in buckets", true},
      {"sums: in 16 bits", true},
      {"sums: of a sharded optimizer", true},
      {"sums: compressed", true},
      {"sums: of low rank", true},
      {"sums: clipped", true},
      {"sums: on GPUs", true},
      {"sums: on GPUs, and one is behind", false},
  };
}

std::vector<Branch> resume_table() {
  return {
      {"resume: a replica is killed", false},
      {"resume: all machines lose their power", false},
      {"run: goes on from before a step that was not finite", false},
  };
}

std::vector<Branch> ends_table() {
  return {
      {"run: completed", true},
      {"run: fails before its first view", false},
      {"run: ends without a folder when all leave", false},
      {"run: fails for nodes that did not come", false},
      {"run: fails below min_replicas", false},
      {"run: goes on from its last checkpoint", true},
      {"run: keeps its state when it is told to end", true},
      {"run: keeps its state when no replica can go on", false},
  };
}

std::vector<Branch> make_table() {
  std::vector<Branch> table = {
      {"event: dropped", false},
      {"event: exhausted", true},
      {"event: state_transferred", true},
      {"event: late", true},
      {"event: left", true},
      {"event: lost", true},
      {"event: paused", false},
      {"event: recovered", true},
      {"event: refused", false},
      {"event: restarted", true},
      {"event: shed", false},
      {"event: short", true},
      {"event: speculated", false},
      {"event: starved", true},
      {"event: suspected", true},
      {"event: trusted", false},
      {"frame: a send fails", true},
      {"frame: broken off half way", true},
      {"frame: of a view not yet entered", true},
      {"frame: of an old view", true},
      {"join: a newcomer begins again", true},
      {"join: a newcomer has caught up", true},
      {"join: a newcomer observes", true},
      {"join: a state comes in pieces", true},
      {"join: a state breaks off half way", false},
      {"late: a loader", true},
      {"lost: a loader that lives", true},
      {"lost: a member complained", true},
      {"lost: before the first view", false},
      {"lost: by silence", true},
      {"lost: its control link ended", true},
      {"lost: one that lives", true},
      {"lost: told by the launcher", true},
      {"lost: while a view is being closed", true},
      {"lost: while a view is being installed", true},
      {"round: end of an epoch", true},
      {"round: evaluation", true},
      {"straggler: a step goes on without it", false},
      {"view: a change", true},
      {"view: a member is behind", true},
      {"view: a record is transferred", true},
      {"view: a record is taken by one left behind", false},
      {"view: a record is taken while the view is being closed", true},
      {"view: a step is done again that a lost replica held", false},
      {"view: after a pause", false},
      {"view: begins after the last record", true},
      {"view: begins with an evaluation", true},
      {"view: begins with the end of an epoch", true},
      {"view: begins with the first step again", true},
      {"view: never in force", false},
      {"view: of one replica", true},
      {"view: replicas load for themselves", false},
      {"view: the fourth or later", true},
      {"zombie: is told that it was evicted", true},
  };
  for (const auto& more : {dealt_table("parts", true, true), dealt_table("states", false, false),
                           sums_table(), resume_table(), ends_table()})
    table.insert(table.end(), more.begin(), more.end());
  for (const FaultKind& kind : fault_table()) table.push_back({"fault: " + kind.name, true});
  return table;
}

}  // namespace

const std::vector<Branch>& branch_table() {
  static const std::vector<Branch> table = make_table();
  return table;
}

std::vector<std::string> unseen_branches(const Tally& tally, std::uint64_t runs) {
  std::vector<std::string> unseen;
  for (const Branch& branch : branch_table()) {
    const std::uint64_t from = branch.common ? kCommonBranchesFrom : kAllBranchesFrom;
    if (runs >= from && tally.of(branch.name) == 0) unseen.push_back(branch.name);
  }
  return unseen;
}

}  // namespace muster::simulation
