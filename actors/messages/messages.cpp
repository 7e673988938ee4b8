// How messages travel: what MUSTER_MESSAGE declares is compiled here, for CAF's inspectors. There is none for
// types of users, nor for an inspector of one's own.
#define MUSTER_MESSAGE_BODIES
#include "actors/messages/messages.hpp"

namespace muster {

MUSTER_MESSAGE(EventField)
MUSTER_MESSAGE(StopRequest)

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Event& x) {
  return inspect_as(f, "muster::Event", x.name, x.time_ms, x.fields);
}
template caf::error inspect(caf::serializer&, Event&);
template caf::error inspect(caf::deserializer&, Event&);
template caf::detail::stringification_inspector::result_type inspect(caf::detail::stringification_inspector&,
                                                                     Event&);

}  // namespace muster
