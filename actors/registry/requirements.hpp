// What a job asks of a model and of a device, and what these cannot do: said before anything starts.
#pragma once

#include <string>

#include "muster/job.hpp"
#include "muster/model.hpp"

namespace muster {

/// Throws JobError with the key that is to be changed. `device`: "cpu", "cpu:K" or "cuda:K".
void check_requirements(const Job& job, const Model& model, const std::string& device);

}  // namespace muster
