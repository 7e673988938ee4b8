// Why two replicas may compute other bits, and what can be done about it.
#pragma once

#include <string>

#include "actors/messages/view_messages.hpp"

namespace muster {

/// For people, to stand behind a semicolon: what each of the two computes with, and the ways out.
std::string why_other_bits(const Prepared& one, const Prepared& other);

}  // namespace muster
