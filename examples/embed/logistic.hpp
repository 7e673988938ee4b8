// A model of one's own, in plain C++: logistic regression on the inputs and their squares.
#pragma once

#include <memory>
#include <vector>

#include "muster/model.hpp"
#include "muster/options.hpp"

/// `inputs`: numbers in one sample.
std::vector<muster::OptionSpec> logistic_options();

/// Batch: tensors[0] float32 [rows, inputs], tensors[1] int64 [rows] of 0 and 1.
std::unique_ptr<muster::Model> make_logistic(const muster::Options& options,
                                             const muster::ModelContext& context);
