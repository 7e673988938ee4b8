// Whether a model reads its samples, and nothing beside them.
#pragma once

#include <string>

#include "actors/contract/tried_model.hpp"

namespace muster {

/// Where the first gradient, computed with NaN behind the samples, is finite, nothing there was read, and the
/// check takes no time. Else it is computed again with a number behind them.
std::optional<Breach> check_rows(TriedModel& model, ContractLog& log);

/// Of a model whose gradient is no sum over samples: how it may read the wrong numbers of a sample, and the
/// likely mistake in the job. Empty: it reads all of a sample alone. Calls it a few times.
std::string misread_rows(TriedModel& model);

}  // namespace muster
