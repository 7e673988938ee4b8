// A source of one's own: points of a square, and whether they lie in the circle within it.
#pragma once

#include <vector>

#include "muster/options.hpp"
#include "muster/source.hpp"

/// `samples` and `test_samples`: how many points.
std::vector<muster::OptionSpec> ring_options();

/// Fields: float32 [2], a point of [-1, 1) x [-1, 1); int64, 1 if it is within 0.8 of the middle.
muster::Dataset make_ring(const muster::Options& options);
