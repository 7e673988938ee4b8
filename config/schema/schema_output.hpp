// The keys about what a run leaves behind: part of the schema (schema.cpp).
#pragma once

#include <vector>

#include "config/schema/schema.hpp"

namespace muster {

std::vector<Key> checkpoint_keys();
std::vector<Key> report_keys();

}  // namespace muster
