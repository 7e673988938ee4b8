// Whether a model's gradient, losses and weights are sums over samples, and padding adds nothing to them.
#pragma once

#include "actors/contract/tried_model.hpp"

namespace muster {

/// A batch's gradient and metrics against those of its halves; where samples mix or there is only one, the
/// batch taken twice against twice the batch. A model that draws random numbers draws others for parts than
/// for the whole: of it averages over 32 keys are compared, and only a mean is found.
std::optional<Breach> check_sums(TriedModel& model, ContractLog& log);

/// The same of evaluate(): only a mean is found. It changes nothing.
std::optional<Breach> check_evaluate(TriedModel& model, ContractLog& log);

/// A batch with rows of padding behind it gives what it gives without.
std::optional<Breach> check_padding(TriedModel& model, ContractLog& log);

}  // namespace muster
