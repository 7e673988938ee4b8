// The events about bits that are not what they must be; part of the table of event.cpp.
#include "actors/events/event.hpp"

namespace muster {

std::vector<EventSpec> events_of_bits() {
  constexpr std::uint8_t kInteger = 0, kText = 2;
  return {{"corrupt",
           "Replicas that must hold the same bits do not; one event for each that is found to be wrong.",
           "when hashes differ, before the next step is applied",
           "coordinator",
           {{"replica", kInteger, false, "number of the replica that differs from the majority"},
            {"device", kText, false, "the device that it computes on"},
            {"what", kText, true, "\"weights\", \"gradients\" or \"records\""},
            {"step", kInteger, true, "the last step that was applied; gradients: the step that they are of"},
            {"from_step", kInteger, true,
             "the first step whose result may be wrong, as far as is known; if it was not applied yet, no "
             "result is wrong"},
            {"text", kText, true, "who was compared; replicas with the same letter agree"},
            {"action", kText, true, "what follows for the replicas"},
            {"advice", kText, true, "which steps may hold wrong results, and what can be done about it"}}},
          {"diverged",
           "Replicas counted an epoch, or ended, differently.",
           "at the end of an epoch, or of the run",
           "coordinator",
           {{"what", kText, true, "what differs, and where"}}}};
}

}  // namespace muster
