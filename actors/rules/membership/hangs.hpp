// Replicas that live, and whose threads do nothing: what is known of that, and when it is a reason to end the
// run. Pure rules.
//
// One that hangs is lost, and another one takes its shards over. Where that one hangs at the same micro-batch
// it is the model's code that does not return: no view change helps. Nor does one where whoever computes a
// micro-batch is evicted for being late (cluster.straggler.action), again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "actors/messages/view.hpp"
#include "actors/rules/nodes/work.hpp"

namespace muster {

class Hangs {
 public:
  /// How people are told of a replica.
  using NameOf = std::function<std::string(const NodeName&)>;
  explicit Hangs(NameOf name_of = &NodeName::text) : name_of_(std::move(name_of)) {}

  /// So many micro-batches at which a replica has hung are remembered.
  static constexpr std::size_t kPlacesMax = 1024;

  /// So often each place of the job may have lost its replica at one micro-batch for being late.
  static constexpr std::uint32_t kEvictionsOfEach = 3;

  /// Why the run ends for one that is to be lost, for it hangs (`stuck`), or is late: another one has hung at
  /// the same micro-batch, or kEvictionsOfEach * replicas were evicted there. Empty: it goes on.
  std::string ends_for(const NodeName& who, const Work& work, bool stuck, std::uint32_t replicas) const;
  /// It is lost for that.
  void note(const NodeName& who, const Work& work, bool stuck);

 private:
  struct Lost {
    std::set<NodeName> hung, late;
  };
  using Place = std::tuple<ThreadCall::Kind, std::uint64_t, std::uint32_t>;  // of a step and a shard
  NameOf name_of_;
  std::map<Place, Lost> lost_at_;
};

}  // namespace muster
