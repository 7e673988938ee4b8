// Who takes part: the names of nodes, what they say of their data, and the view, a numbered membership.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "actors/messages/clean_steps.hpp"
#include "actors/messages/message.hpp"
#include "muster/progress.hpp"

namespace muster {

// What kind of process, and which of its kind.
struct NodeName {
  bool loader = false;
  std::uint32_t slot = 0;  ///< replica or loader number

  std::string text() const { return (loader ? "loader " : "replica ") + std::to_string(slot); }
  bool operator==(const NodeName&) const = default;
  auto operator<=>(const NodeName&) const = default;
  static auto fields(NodeName& x) { return std::tie(x.loader, x.slot); }
};
MUSTER_MESSAGE(NodeName)

/// The first numbers that nobody had, by kind. None is given twice, also not by a coordinator that finds an
/// older copy of its journal: nodes tell it what the one before had given.
struct FreeNumbers {
  std::uint32_t replica = 0, loader = 0;

  std::uint32_t& of(const NodeName& name) { return name.loader ? loader : replica; }
  /// Beyond this node's, too. Far from the end: what a node says may be anything.
  void beyond(const NodeName& name) {
    constexpr std::uint32_t kMax = 1u << 30;
    of(name) = std::max(of(name), std::min(name.slot, kMax) + 1);
  }
  void beyond(const FreeNumbers& other) {
    if (other.replica > 0) beyond(NodeName{false, other.replica - 1});
    if (other.loader > 0) beyond(NodeName{true, other.loader - 1});
  }
  bool operator==(const FreeNumbers&) const = default;
  static auto fields(FreeNumbers& x) { return std::tie(x.replica, x.loader); }
};
MUSTER_MESSAGE(FreeNumbers)

MUSTER_MESSAGE(DataFacts)

struct Member {
  NodeName name;
  std::uint64_t incarnation = 0;
  std::string address;
  std::uint32_t begin = 0;  ///< a replica's shards; a loader's are those of the replicas that it serves
  std::uint32_t end = 0;
  std::uint32_t buddy = 0;  ///< the replica that backs up its part (rules/steps/parts.hpp)
  /// A replica whose gradient of this step was compared, and was right (messages/clean_steps.hpp).
  std::uint64_t clean = kCleanUntilView;
  /// The replicas that gave it a state or records, until its bits are proven.
  std::set<std::uint32_t> holds_of;
  std::uint32_t since = 0;  ///< the view in which it became a member
  /// The first step that it made as the only replica, until others have compared their weights with its own;
  /// 0: none.
  std::uint64_t alone_from = 0;

  static auto fields(Member& x) {
    return std::tie(x.name, x.incarnation, x.address, x.begin, x.end, x.buddy, x.clean, x.holds_of, x.since,
                    x.alone_from);
  }
};
MUSTER_MESSAGE(Member)

/// A member of a view that misses records.
struct Behind {
  std::uint32_t slot = 0;
  std::uint64_t records = 0;  ///< that it has

  static auto fields(Behind& x) { return std::tie(x.slot, x.records); }
};
MUSTER_MESSAGE(Behind)

/// Shards [begin, end).
struct ShardRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool holds(std::uint32_t shard) const { return shard >= begin && shard < end; }
  static auto fields(ShardRange& x) { return std::tie(x.begin, x.end); }
  bool operator==(const ShardRange&) const = default;
};
MUSTER_MESSAGE(ShardRange)

/// A step that goes on without the gradients of some shards.
struct Dropping {
  std::uint64_t record = 0;  ///< the number that the step's record will have, from 1, over all views; 0: none
  std::vector<ShardRange> shards;

  static auto fields(Dropping& x) { return std::tie(x.record, x.shards); }
  bool operator==(const Dropping&) const = default;
};
MUSTER_MESSAGE(Dropping)

/// Who holds a part of a sharded optimizer's vectors, or the states of shards [begin, end), by their slots.
struct PartHolder {
  std::uint32_t owner = 0;
  std::uint32_t buddy = 0;  ///< the owner: nobody else has it
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool operator==(const PartHolder&) const = default;
  static auto fields(PartHolder& x) { return std::tie(x.owner, x.buddy, x.begin, x.end); }
};
MUSTER_MESSAGE(PartHolder)

/// Where the members of a view find what each of them holds but a part of, when it begins: the vectors of a
/// sharded optimizer (train.shard_optimizer), or the states of shards (train.compression).
struct PartSource {
  std::uint32_t view = 0;  ///< the one in which they were dealt to these holders; 0: they are on disk
  std::vector<PartHolder> holders;
  /// The last checkpoint that the coordinator knew of (its manifest; empty: the beginning). If the vectors
  /// are on disk, every member goes back to it.
  std::string checkpoint;
  std::uint64_t records = 0;  ///< in it
  std::uint64_t step = 0;     ///< the last one in it

  static auto fields(PartSource& x) { return std::tie(x.view, x.holders, x.checkpoint, x.records, x.step); }
  bool operator==(const PartSource&) const = default;
};
MUSTER_MESSAGE(PartSource)

/// A numbered membership. Replicas come first, in order of their slots, then loaders. Its number is higher
/// than that of any view before it, over all terms.
///
/// `records` counts the rounds that are committed for good (steps, ends of epochs, evaluations): the most
/// that any member holds. Members in `behind` miss the last of them, and get them from replica `donor`
/// before they go on. If record `dropping.record` comes of the first round of the view, its shards are left
/// out of that.
struct View {
  std::uint64_t term = 0;  ///< of the coordinator that made it; raised at each of its starts
  std::uint32_t number = 0;
  std::uint64_t records = 0;
  std::uint32_t donor = 0;
  std::vector<Behind> behind;
  std::vector<Member> replicas;
  std::vector<Member> loaders;
  std::uint64_t batch_bytes_max = 0;
  DataFacts facts;
  Dropping dropping;
  PartSource source;
  bool sums_on_gpus = false;  ///< sums and results of steps lie on the replicas' GPUs, and go between these
  bool last = false;          ///< no step is made in it: its first member writes a last checkpoint
  /// Replicas whose weights are compared before its first step, and whose gradients in that: they are new, or
  /// are in doubt.
  std::vector<std::uint32_t> unproven;
  /// What members hold may be wrong: all go back to `source`, and set later checkpoints aside.
  bool back = false;
  /// Another one each time when the run goes back (checkpoint_verdicts.hpp).
  std::uint64_t history = 0;
  /// Steps in which the gradients of all replicas are compared, both included (0: none): in the last one two
  /// differed, and nobody knew who was wrong.
  std::uint64_t doubted_from = 0, doubted_to = 0;

  bool doubts(std::uint64_t step) const { return step >= doubted_from && step <= doubted_to; }

  /// The loader process that serves a replica: replicas are dealt to loaders in turn.
  const Member& loader_of(std::uint32_t replica) const { return loaders[replica % loaders.size()]; }

  bool holds(const NodeName& name) const {
    for (const Member& member : name.loader ? loaders : replicas) {
      if (member.name == name) return true;
    }
    return false;
  }

  static auto fields(View& x) {
    return std::tie(x.term, x.number, x.records, x.donor, x.behind, x.replicas, x.loaders, x.batch_bytes_max,
                    x.facts, x.dropping, x.source, x.sums_on_gpus, x.last, x.unproven, x.back, x.history,
                    x.doubted_from, x.doubted_to);
  }
};
MUSTER_MESSAGE(View)

}  // namespace muster
