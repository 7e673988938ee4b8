// Which shards of a step are computed by a second replica as well: a pure rule, which every member of a view
// follows by itself. In the first steps of a view those are audited whose gradients were never compared; in
// others one replica at each turn, round the view.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "actors/messages/view.hpp"
#include "muster/job.hpp"

namespace muster {

struct Audit {
  std::uint32_t owner = 0;    ///< replica whose gradient is compared
  std::uint32_t auditor = 0;  ///< replica that computes it, too
  /// Of the owner: the first of them that has samples in the step is the one. Empty: it has none.
  std::vector<std::uint32_t> shards;

  bool operator==(const Audit&) const = default;
};

/// Whether replicas of this job audit each other, as far as its file tells.
bool may_audit(const Job& job);

/// Steps between two audits in this view; 0: there are none. Nobody can compute a shard without its state,
/// and nobody may where bits may differ; a backup worker is compared anyway; and a generator would
/// have to go through all samples before.
std::uint64_t audit_every(const Job& job, const View& view);

/// In the order of owners; none in most steps. `unproven`: members whose gradients were never compared, or
/// are in doubt. In a view of three or more each of these has two auditors: a single shard with samples then
/// tells who is wrong.
std::vector<Audit> audits_of(const std::vector<Member>& replicas, const std::set<std::uint32_t>& unproven,
                             std::uint64_t step, std::uint64_t every);

/// Steps within which each of so many replicas is audited once.
constexpr std::uint64_t audit_window(std::uint64_t every, std::size_t replicas) {
  return every * replicas;
}

}  // namespace muster
