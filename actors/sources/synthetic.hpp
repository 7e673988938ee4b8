// The `synthetic` source: regression data from an integer mixer; no files, the same bits everywhere.
#pragma once

#include <vector>

#include "muster/options.hpp"
#include "muster/source.hpp"

namespace muster {

/// The options that make_synthetic reads.
std::vector<OptionSpec> synthetic_options();

/// Fields: x, float32 [inputs], evenly spread over [-1, 1); then y, float32 [outputs]: a fixed linear
/// function of x plus a little noise, so that a model has something to learn and never ends at a loss of 0.
/// Sample i is a function of (seed, i); samples are computed when they are read. test_samples = 0: no test
/// set. The test samples are other samples of the same function. Throws JobError for options out of range.
Dataset make_synthetic(const Options& options);

}  // namespace muster
