// What the coordinator reads from the report that members hold other bits.
#pragma once

#include <cstdint>

#include "actors/messages/messages.hpp"

namespace muster {

Bits bits_of(const UnlikeBits& message);

/// The last step that members have applied, or may have.
std::uint64_t last_done(const UnlikeBits& message);

}  // namespace muster
