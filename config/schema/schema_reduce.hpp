// The keys of the table `reduce`.
#pragma once

#include <vector>

#include "config/schema/schema.hpp"

namespace muster {

std::vector<Key> reduce_keys();

}  // namespace muster
