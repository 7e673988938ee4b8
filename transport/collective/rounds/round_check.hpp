// What the members of a view say of their bits in one round, compared: pure rules. The records that they
// hold, the weights behind the last step, and gradients that two of them have computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transport/collective/rounds/kept.hpp"
#include "transport/collective/rounds/round.hpp"
#include "transport/transport.hpp"

namespace muster {

/// What was compared.
enum class Bits : std::uint8_t { record, weights, gradient };

/// Members with other bits than others. Who is in the same group has the same.
struct Unlike {
  struct Opinion {
    PeerId peer = 0;
    std::uint32_t group = 0;

    bool operator==(const Opinion&) const = default;
  };

  Bits bits = Bits::weights;
  bool first = false;      ///< found in a check: who has its state from another one has no opinion of its own
  std::uint64_t step = 0;  ///< record, weights: behind this step; gradient: of it
  std::vector<Opinion> opinions;      ///< of those who were compared, in the order of members
  std::vector<std::uint32_t> shards;  ///< gradient: of those that differ

  /// For people, and for a view whose members are not told of it.
  std::string text() const;
};

/// Which member is not where `self` is (kind, epoch, step), so that their sums do not belong together; empty:
/// all are. `headers` and `peers` by member; all headers are in.
std::string disagreement(const std::vector<Kept<RoundHeader>>& headers, const std::vector<PeerId>& peers,
                         std::uint32_t self);

/// What differs, first of all in their records; nothing if all are alike, or cannot be compared. `headers`
/// and `peers` by member; all headers are in.
std::optional<Unlike> unlike_headers(const std::vector<Kept<RoundHeader>>& headers,
                                     const std::vector<PeerId>& peers);

/// The same of the gradients that were audited. Who has computed the same gradient of a shard as another one
/// is in its group, and so on along the shards.
std::optional<Unlike> unlike_gradients(const std::vector<std::vector<AuditReport>>& audits,
                                       const std::vector<PeerId>& peers, std::uint64_t step);

}  // namespace muster
