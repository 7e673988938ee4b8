// Whether a model's layout can be what muster/model.hpp says that it is.
#pragma once

#include <optional>
#include <string>

#include "actors/contract/breach.hpp"
#include "muster/model.hpp"

namespace muster {

/// Names that are there and unique, parameters before buffers, offsets without gaps, counts that fit the
/// shapes, sums that fit. Computes nothing.
std::optional<Breach> check_layout(const Layout& layout, const std::string& key);

/// "element 3 of 'weight'".
std::string element_text(const Layout& layout, std::size_t index);

}  // namespace muster
