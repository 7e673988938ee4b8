// How messages travel: what MUSTER_MESSAGE declares is compiled here, for CAF's inspectors. There is none for
// types of users, nor for an inspector of one's own.
#define MUSTER_MESSAGE_BODIES
#include <caf/deserializer.hpp>
#include <caf/detail/stringification_inspector.hpp>
#include <caf/serializer.hpp>

#include "muster/actors/messages.hpp"
