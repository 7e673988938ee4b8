// The events about replicas that are late; part of the table of event.cpp.
#include "actors/events/event.hpp"

namespace muster {

std::vector<EventSpec> events_of_stragglers() {
  constexpr std::uint8_t kInteger = 0, kText = 2;
  const EventFieldSpec kReplica{"replica", kInteger, false, "number of the replica"};
  const EventFieldSpec kStep{"step", kInteger, true, "step, from 1"};
  const EventFieldSpec kReason{"reason", kText, true, "why, as text for people"};
  return {{"speculated",
           "A replica that waits for a late one computes some of its shards, too; the first answer counts.",
           "with cluster.straggler.action = \"speculate\", when the patience is over",
           "the replica that waits",
           {kReplica,
            {"instead_of", kInteger, true, "number of the late replica"},
            {"shards", kText, true, "shards that it computes, \"first-last\""},
            kStep}},
          {"dropped",
           "A step goes on without the gradients of a late replica. Their samples are used in a step of "
           "their own at the end of the epoch.",
           "with cluster.straggler.action = \"drop\", when the step is committed",
           "the replica that holds the shards",
           {kReplica,
            {"shards", kText, true, "shards that were left out, \"first-last\""},
            {"epoch", kInteger, true, "epoch at whose end they are used"},
            kStep}},
          {"shed",
           "Shards move from slow replicas to faster ones, in a new view.",
           "with cluster.straggler.action = \"shed\", when it would save time for several steps in a row",
           "coordinator",
           {{"view", kInteger, true, "the view that ends"},
            {"shards", kText, true,
             "new shards of each replica, \"first-last\", \"-\" for none: host by host, within a host in the "
             "order of replicas"},
            kReason}}};
}

}  // namespace muster
