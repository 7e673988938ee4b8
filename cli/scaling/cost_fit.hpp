// The parameters of the cost model, fitted to what `muster bench allreduce` measured within one host.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/scaling/cost_parameters.hpp"
#include "cli/scaling/phase_cost.hpp"

namespace muster {

/// One measured point.
struct MeasuredReduction {
  Algorithm algorithm = Algorithm::direct;
  std::uint32_t members = 2;  ///< a power of two
  std::uint32_t cores = 1;    ///< that they share
  double bytes = 0;           ///< of the vector
  double seconds = 0;         ///< of the slowest member
};

/// How often each parameter is paid on the critical path of a reduction within one host: hops (latency), hops
/// where members outnumber cores (a process is switched to, on top), messages handled (overhead), bytes that
/// copying and adding move through memory. Where members outnumber cores, what keeps a thread busy counts so
/// much more often.
inline constexpr std::size_t kCostTerms = 4;
using CostTerms = std::array<double, kCostTerms>;
CostTerms terms_of(const MeasuredReduction& point, double chunk_bytes);

struct CostFit {
  CostTerms seconds{};  ///< of each term once: latency, switch, overhead, moved byte; none below 0
  double typical_factor =
      1;  ///< between predicted and measured: exp of the root mean square of the logarithm
};

/// The least sum of squares of log(predicted / measured), among parameters that are not negative: twice as
/// long counts like half as long, at microseconds like at milliseconds. A parameter that the points want
/// below 0 is 0. Needs at least one point; all seconds are above 0.
CostFit fit_cost(std::span<const MeasuredReduction> points, double chunk_bytes);

/// What the fit says of a point, in seconds.
double predicted(const CostFit& fit, const MeasuredReduction& point, double chunk_bytes);

/// The fitted parameters in place of those within a host; the network's stay.
CostParameters with_fit(CostParameters parameters, const CostFit& fit);

}  // namespace muster
