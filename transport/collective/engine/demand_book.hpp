// Demands for micro-batches between nodes: what this node has asked of a loader and has not been given, and
// what a loader owes to others. Pure state; times are handed in. Lives with the engine.
//
// A demand that is asked again keeps its ticket, so a loader that still owes it ignores the second one, and a
// shard ignores a second answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "transport/frames/loading_bodies.hpp"
#include "transport/transport.hpp"

namespace muster {

class DemandBook {
 public:
  using Time = std::chrono::nanoseconds;

  /// Beyond so many a loader takes no further demand of one node; the node asks again.
  static constexpr std::size_t kOwedMax = std::size_t{1} << 16;

  /// A new view: everything is asked anew.
  void enter();

  // ---- the side that asks
  void asked(PeerId loader, const DemandBody& demand, Time now);
  void answered(PeerId loader, const BatchBody& batch);
  /// Loaders that owe an answer.
  std::vector<PeerId> waited_for() const;
  /// When anything was asked of this loader last; none if it owes nothing.
  std::optional<Time> asked_at(PeerId loader) const;
  /// What this loader owes, in the order of shards and tickets, to be asked again.
  std::vector<DemandBody> unanswered(PeerId loader) const;

  // ---- the side that loads
  /// A demand has come. False: it is owed already, or too many are.
  bool taken(PeerId asker, const DemandBody& demand);
  /// The answer to it is on its way, and this node is free of it.
  void given(PeerId asker, const BatchBody& batch);
  std::size_t owed(PeerId asker) const;

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // shard, ticket
  struct Asked {
    std::map<Key, DemandBody> demands;
    Time last{0};
  };

  std::map<PeerId, Asked> asked_;
  std::map<PeerId, std::set<Key>> owed_;
};

}  // namespace muster
