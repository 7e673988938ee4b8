// By what two replicas are found to compute alike before they train together.
#pragma once

#include <string>

#include "muster/model.hpp"

namespace muster {

struct TrainerState;

/// SHA-256 of the gradient of the first micro-batch of shard 0 with the initial weights: the same on all
/// replicas, or they would train apart. Empty where the replica does not read the data itself, or the source
/// cannot be read twice at no cost. Changes nothing; for the prepare job. Throws what the source or the model
/// throws.
std::string probe(TrainerState& trainer);

/// The hardware of its device, and the libraries of its model, for people: what to look at where two replicas
/// do not compute alike. For the prepare job; throws what the device throws.
std::string computes_with(const TrainerState& trainer);

/// SHA-256 of the names and shapes of the parameters and buffers, in their order.
std::string shapes_of(const Layout& layout);

}  // namespace muster
