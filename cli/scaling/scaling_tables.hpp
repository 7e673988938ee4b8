// The tables of `muster scaling`, as Markdown: how the fit does, what a step takes on many replicas, and
// whether the rule behind `auto` chooses what the model would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/scaling/cost_fit.hpp"
#include "cli/scaling/step_simulation.hpp"

namespace muster::cli {

/// What is computed, and what it is computed on.
struct Workload {
  double tokens = 16384;             ///< of each replica in a step
  double flops_per_s = 150e12;       ///< of a replica, sustained
  double memory_bytes_per_s = 2e12;  ///< of a replica: what the update is bound by
  double memory_bytes = 80e9;        ///< of a replica
};

struct Network {
  double gbit_per_s = 100;  ///< of a host, each direction
  std::uint32_t per_host = 8;
};

struct ScalingTables {
  CostParameters parameters;  ///< but for the wire
  Workload workload;
  std::vector<Network> networks;
  std::vector<std::uint32_t> replicas;
  std::vector<double> model_parameters;
  std::vector<double> bucket_bytes;  ///< with overlap the best of these counts
};

/// 6 floating-point operations for each parameter and token, a third of them forward (Kaplan et al., 2020);
/// the update reads parameters, gradient and two moments, and writes all but the gradient.
StepShape step_of(const Workload& workload, double model_parameters);

/// Parameters, gradient and the two moments of Adam, float32: 16 bytes a parameter. Activations come on top.
double bytes_held(double model_parameters);

/// Each point: measured and predicted microseconds, and predicted by measured.
std::string fit_table(const std::string& transport, const std::vector<MeasuredReduction>& points,
                      const CostFit& fit, double chunk_bytes);
/// Each cell: without and with overlap; the best is bold. `auto`: what it takes, and, without overlap, how
/// many times as long as the best that is.
std::string step_tables(const ScalingTables& tables);
/// Each cell: the best, and what `auto` takes instead, if that is another one. For these networks, and for
/// hosts with a single replica.
std::string choice_tables(const ScalingTables& tables);

}  // namespace muster::cli
