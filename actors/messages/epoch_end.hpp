// What a replica counts and measures (muster/progress.hpp) travels.
#pragma once

#include "actors/messages/message.hpp"
#include "muster/progress.hpp"

namespace muster {

MUSTER_MESSAGE(EpochEnd)
MUSTER_MESSAGE(PhaseTimes)
MUSTER_MESSAGE(Sent)
MUSTER_MESSAGE(Traffic)

}  // namespace muster
