// Messages about bits that are compared: audits within a node, and the report that members differ. Part of
// messages.hpp, which is the one to include and to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <caf/actor_control_block.hpp>

#include "actors/messages/message.hpp"
#include "actors/messages/view.hpp"
#include "transport/collective/rounds/round_check.hpp"

namespace muster {

/// replica -> node: it audits this shard of another replica, and needs its data. Owed: AuditShardReply.
struct AuditShardRequest {
  std::uint32_t view = 0;
  std::uint32_t shard = 0;
};

/// node -> replica: the shard_actor that has the data. It ends with the view, or with the next
/// AuditShardRequest.
struct AuditShardReply {
  std::uint32_t view = 0;
  std::uint32_t shard = 0;
  caf::strong_actor_ptr actor;
};

/// compute thread -> replica: the gradient of another replica's shard.
struct Audited {
  std::uint64_t turn = 0;
  AuditReport report;
  std::string error;
};

/// compute thread -> replica: a hash of all weights.
struct Weighed {
  std::uint64_t turn = 0;
  WeightsHash weights;
  std::string error;
};

/// replica -> node: of each replica of the view the last step whose gradient was compared, as in Member.
struct Compared {
  std::uint32_t view = 0;
  std::vector<std::uint64_t> clean;
};

/// node -> coordinator: members of the view hold other bits; no step of it is applied any more, unless the
/// job says so. All members say the same. Owed: Close, unless the job goes on.
struct UnlikeBits {
  NodeName name;
  std::uint32_t view = 0;
  std::uint8_t bits = 0;  ///< Bits
  bool first = false;     ///< found before the first step of the view, or before a checkpoint
  std::uint64_t step = 0;
  std::vector<std::uint32_t> slots;   ///< that were compared
  std::vector<std::uint32_t> groups;  ///< of each; equal: the same bits
  std::vector<std::uint32_t> shards;
  std::string text;                  ///< for people
  std::vector<std::uint64_t> clean;  ///< of the view's replicas, as in Member

  static auto fields(UnlikeBits& x) {
    return std::tie(x.name, x.view, x.bits, x.first, x.step, x.slots, x.groups, x.shards, x.text, x.clean);
  }
};
MUSTER_MESSAGE(UnlikeBits)

}  // namespace muster
