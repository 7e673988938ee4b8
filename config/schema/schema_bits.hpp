// The keys about bits that are compared: part of the schema (schema.cpp).
#pragma once

#include <vector>

#include "config/schema/schema.hpp"

namespace muster {

std::vector<Key> step_check_keys();  ///< of [train]
std::vector<Key> corruption_keys();  ///< of [cluster]

}  // namespace muster
