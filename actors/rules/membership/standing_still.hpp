// What is said of a node that stands still. Pure.
#pragma once

#include <string>

#include "actors/rules/membership/membership.hpp"

namespace muster {

/// Of a node that stands still: what it does for longest, to stand behind its name. A loader that serves it
/// (`any_loader`) is not why.
std::string what_it_does(const NodeRecord& record, bool any_loader);

}  // namespace muster
