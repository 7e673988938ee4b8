// The small job of many tests.
#pragma once

#include <cstdint>

#include "muster/job.hpp"

namespace muster::testing {

struct LinearData {
  std::int64_t samples = 0;
  std::int64_t test_samples = 0;
  std::int64_t inputs = 4, outputs = 2;
  std::int64_t seed = 9;
};

/// The model `linear` over synthetic data that fit it; all else is as in a job that does not say it.
inline Job linear_job(const LinearData& data) {
  Job job;
  job.model.name = "linear";
  job.model.options = {{"inputs", Option(data.inputs)}, {"outputs", Option(data.outputs)}};
  job.data.source = "synthetic";
  job.data.options = {{"samples", Option(data.samples)},
                      {"inputs", Option(data.inputs)},
                      {"outputs", Option(data.outputs)},
                      {"test_samples", Option(data.test_samples)},
                      {"seed", Option(data.seed)}};
  return job;
}

}  // namespace muster::testing
