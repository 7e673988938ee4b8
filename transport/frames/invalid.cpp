// What bodies of frames cannot say, whatever the view is.
#include "transport/frames/loading_bodies.hpp"
#include "transport/frames/round_bodies.hpp"
#include "transport/frames/status_body.hpp"
#include "transport/frames/transfer_bodies.hpp"

namespace muster {

std::string MetricsBody::invalid() const {
  if (audits <= kAuditsMax) return {};
  return std::to_string(audits) + " audits behind the losses, at most " + std::to_string(kAuditsMax) +
         " are sent";
}

std::string ContributionBody::invalid() const {
  return tree_node == 0 ? "elements of tree node 0; the root is node 1" : "";
}

std::string CarriedBody::invalid() const {
  if (first_element % kElementsMax == 0) return {};
  return "elements of a state from " + std::to_string(first_element) + " on; pieces begin at multiples of " +
         std::to_string(kElementsMax);
}

std::string KeptElementsBody::invalid() const {
  return elements == 0 ? "the buddy keeps 0 elements" : "";
}

std::string DemandBody::invalid() const {
  if (phase < kPhases) return {};
  return "a demand for phase " + std::to_string(phase) + ", there are " + std::to_string(kPhases);
}

std::string StatusBody::invalid() const {
  if (activity < kActivities) return {};
  return "activity " + std::to_string(activity) + ", there are " + std::to_string(kActivities);
}

std::string PieceBody::invalid() const {
  if (bytes > 0 && first_byte < whole_bytes && bytes <= whole_bytes - first_byte) return {};
  return std::to_string(bytes) + " bytes from byte " + std::to_string(first_byte) + " on of " +
         std::to_string(whole_bytes);
}

std::string ReceivedBody::invalid() const {
  if (comes_in_pieces(of)) return {};
  return "an answer to a piece of kind " + std::to_string(static_cast<unsigned>(of)) +
         ", which does not come in pieces";
}

}  // namespace muster
