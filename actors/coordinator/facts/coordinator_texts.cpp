#include "actors/coordinator/facts/coordinator_texts.hpp"

namespace muster {

std::string why_resume(const View& view) {
  return "the run was to go on from " + view.source.checkpoint +
         ", and its coordinator ended before the first view: start it with --resume, or move the journal "
         "away "
         "to begin the run anew";
}

std::string why_suspected(const SuspectSteps& suspects) {
  const std::string those = "step " + std::to_string(suspects.from()) + " and later";
  return suspects.were_suspected_before()
             ? those +
                   " were given up before the coordinator was started again: their results "
                   "may be wrong, or parts of the state were lost"
             : "results of " + those + " may be wrong (event corrupt)";
}

std::string why_not_reached(const Membership& membership, const std::string& ports, const NodeName& from,
                            const NotReached& closed) {
  return membership.nodes().name_at_host(from) + " does not reach " + closed.where + ", where " +
         membership.nodes().name_at_host(closed.peer) + " takes data: " + closed.why +
         ". Let what runs between the two hosts through: each node takes a port of " +
         (ports.empty() ? "any number; cluster.data_ports names a range for firewalls"
                        : "cluster.data_ports (" + ports + ")");
}

std::string text_of(const std::vector<ShardInterval>& deal) {
  std::string text;
  for (const ShardInterval& interval : deal) {
    text += text.empty() ? "" : " ";
    text += interval.begin == interval.end
                ? "-"
                : std::to_string(interval.begin) + "-" + std::to_string(interval.end - 1);
  }
  return text;
}

}  // namespace muster
